-- SPDX-License-Identifier: MIT
--
-- Debug sections compressed with zlib. Functions and lines as if they were not.
--
-- flags: -g -O1 -gz=zlib
-- tracking: auto

-- rows
SELECT count(*) FROM allocations WHERE size=7789;
-- expect: 27

-- closed
SELECT count(*) FROM allocations WHERE size=7789 AND dealloc_after IS NOT NULL;
-- expect: 9

-- inner line
SELECT count(*) FROM allocations a
WHERE size=7789
AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND b.sym LIKE '%take_here%' AND b.file LIKE '%main.c' AND b.line=@TAKE);
-- expect: 27

-- outer line
SELECT count(*) FROM allocations a
WHERE size=7789
AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND b.sym LIKE '%hand_over%' AND b.file LIKE '%main.c' AND b.line=@HAND);
-- expect: 27
