/* SPDX-License-Identifier: MIT
 *
 * cppmix N ROUNDS: churn of maps, strings, vectors and lists, with N keys.
 */
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
struct Node {
	std::string name;
	std::vector<std::string> tags;
	std::unique_ptr<Node> next;
};
static unsigned long s = 1;
static unsigned rnd()
{
	s = s * 6364136223846793005ul + 1442695040888963407ul;
	return s >> 33;
}
template <class M> static size_t churn(M &m, long n)
{
	for (long i = 0; i < n; i++) {
		std::string k = "a-reasonably-long-key-" + std::to_string(rnd() % n);
		auto &nd = m[k];
		if (!nd)
			nd = std::make_unique<Node>();
		nd->name = k + "/value/" + std::to_string(i);
		nd->tags.push_back("tag-that-does-not-fit-sso-" + std::to_string(i % 97));
		if (nd->tags.size() > 3)
			m.erase(k);
	}
	return m.size();
}
int main(int c, char **v)
{
	long n = c > 1 ? atol(v[1]) : 100000, r = c > 2 ? atol(v[2]) : 5;
	size_t t = 0;
	for (long i = 0; i < r; i++) {
		std::map<std::string, std::unique_ptr<Node>> a;
		std::unordered_map<std::string, std::unique_ptr<Node>> b;
		t += churn(a, n) + churn(b, n);
		std::list<std::vector<int>> l;
		for (long j = 0; j < n / 10; j++) {
			l.emplace_back();
			for (int x = 0; x < 20; x++)
				l.back().push_back(x);
		}
		t += l.size();
	}
	fprintf(stderr, "cppmix %zu\n", t);
}
