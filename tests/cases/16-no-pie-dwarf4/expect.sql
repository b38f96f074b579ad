-- SPDX-License-Identifier: MIT
--
-- A position-dependent program with DWARF 4. Functions and lines at a load bias of 0.
--
-- flags: -gdwarf-4 -O1 -no-pie -fno-pie -fno-pic
-- tracking: auto

-- rows
SELECT count(*) FROM allocations WHERE size=7817;
-- expect: 27

-- closed
SELECT count(*) FROM allocations WHERE size=7817 AND dealloc_after IS NOT NULL;
-- expect: 9

-- inner line
SELECT count(*) FROM allocations a
WHERE size=7817
AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND b.sym LIKE '%take_here%' AND b.file LIKE '%main.c' AND b.line=@TAKE);
-- expect: 27

-- outer line
SELECT count(*) FROM allocations a
WHERE size=7817
AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND b.sym LIKE '%hand_over%' AND b.file LIKE '%main.c' AND b.line=@HAND);
-- expect: 27
