/* SPDX-License-Identifier: MIT
 *
 * The Lua interpreter, at work: relinked-lua DIRECTORY. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "program.h"

static const char script[] = "local words, count = {}, {}\n"
			     "local state = 7\n"
			     "local function draw(n) state = (state * 1103515245 + 12345) % 2147483648; return state % n + 1 end\n"
			     "for i = 1, 30000 do\n"
			     "  local w = ('w' .. draw(900)):rep(draw(4))\n"
			     "  words[#words + 1] = w\n"
			     "  count[w] = (count[w] or 0) + 1\n"
			     "end\n"
			     "local keys = {}\n"
			     "for k in pairs(count) do keys[#keys + 1] = k end\n"
			     "table.sort(keys)\n"
			     "local lines = {}\n"
			     "for i, k in ipairs(keys) do lines[i] = string.format('%-20s %5d', k, count[k]) end\n"
			     "local text = table.concat(lines, '\\n')\n"
			     "local found = 0\n"
			     "for number in text:gmatch('%d+') do found = found + #number end\n"
			     "local threads = {}\n"
			     "for i = 1, 200 do\n"
			     "  threads[i] = coroutine.wrap(function() for j = 1, 20 do coroutine.yield({i, j, tostring(i * j)}) end end)\n"
			     "end\n"
			     "local sum = 0\n"
			     "for j = 1, 20 do for i = 1, 200 do sum = sum + #threads[i]()[3] end end\n"
			     "print(#keys, #text, found, sum, keys[1], keys[#keys])\n";

int main(int argc, char **argv)
{
	lua_State *lua;

	CHECK(argc == 2);
	track(argv[1], 0, 0);
	lua = luaL_newstate();
	CHECK(lua);
	luaL_openlibs(lua);
	if (luaL_dostring(lua, script) != LUA_OK) {
		fprintf(stderr, "%s\n", lua_tostring(lua, -1));
		return 1;
	}
	lua_close(lua);
	untrack();
	return 0;
}
