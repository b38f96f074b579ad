/* SPDX-License-Identifier: MIT
 *
 * A program that allocates nothing and calls nothing: what configure scripts link to see whether the flags work. */
int main(void)
{
	return 0;
}
