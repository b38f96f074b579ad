/* SPDX-License-Identifier: MIT
 *
 * What C++ does to names.
 */
#include "place.h"

namespace app
{
template <class T, int N> struct Box {
	T value[N];
	__attribute__((noinline)) T put(T v);
};

template <class T, int N> T Box<T, N>::put(T v)
{
	PLACE(in_template);
	value[0] = v;
	return value[0];
}

namespace
{
__attribute__((noinline)) int unseen(int n)
{
	PLACE(in_anonymous);
	return n + 2;
}
} // namespace

__attribute__((noinline)) int with_lambda(int n)
{
	auto lambda = [n](int m) __attribute__((noinline))
	{
		PLACE(in_lambda);
		return n * m;
	};
	return lambda(3);
}
} // namespace app

int main(int argc, char **)
{
	app::Box<long, 4> box;

	return static_cast<int>(box.put(argc)) + app::unseen(argc) + app::with_lambda(argc);
}
