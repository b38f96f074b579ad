-- SPDX-License-Identifier: MIT
--
-- Inlined functions and a tail call, optimised; malloc called through a pointer. The inlined frames are there with their lines, inner
-- before outer. A function that left by a jump has no frame. The pointer leads to the wrapper too.
--
-- flags: -g -O2 -fno-builtin-malloc
-- tracking: auto

-- rows
SELECT count(*) FROM allocations WHERE size=7717;
-- expect: 60

-- closed
SELECT count(*) FROM allocations WHERE size=7717 AND dealloc_after IS NOT NULL;
-- expect: 20

-- leaf line
SELECT count(*) FROM allocations a
WHERE size=7717 AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND b.sym LIKE '%leaf_inl%' AND b.line=@LEAF);
-- expect: 60

-- mid line
SELECT count(*) FROM allocations a
WHERE size=7717 AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND b.sym LIKE '%mid_inl%' AND b.line=@MID);
-- expect: 60

-- outer line
SELECT count(*) FROM allocations a
WHERE size=7717 AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND b.sym LIKE '%outer_real%' AND b.line=@OUTER);
-- expect: 60

-- order
SELECT count(*) FROM allocations a
JOIN first f0 ON f0.bt=a.bt AND f0.sym LIKE '%leaf_inl%'
JOIN first f1 ON f1.bt=a.bt AND f1.sym LIKE '%mid_inl%'
JOIN first f2 ON f2.bt=a.bt AND f2.sym LIKE '%outer_real%'
WHERE size=7717 AND f0.frame_no < f1.frame_no AND f1.frame_no < f2.frame_no;
-- expect: 60

-- tail callee
SELECT count(*) FROM located WHERE size=7723 AND function LIKE '%tail_callee%';
-- expect: 30
