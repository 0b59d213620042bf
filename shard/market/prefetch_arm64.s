#include "textflag.h"

// func prefetch(tags *uint64, mask uint64, first *uint64, stride, n uintptr)
TEXT ·prefetch(SB), NOSPLIT, $0-40
	MOVD tags+0(FP), R0
	MOVD mask+8(FP), R1
	MOVD first+16(FP), R2
	MOVD stride+24(FP), R3
	MOVD n+32(FP), R4
	CBZ  R4, done

next:
	MOVD (R2), R5
	AND  R1, R5
	ADD  R5<<3, R0, R5
	PRFM (R5), PLDL1KEEP
	ADD  R3, R2
	SUB  $1, R4
	CBNZ R4, next

done:
	RET

// func prefetchLines(lines *uintptr, n uintptr)
TEXT ·prefetchLines(SB), NOSPLIT, $0-16
	MOVD lines+0(FP), R0
	MOVD n+8(FP), R1
	CBZ  R1, done

next:
	MOVD.P 8(R0), R2
	PRFM (R2), PLDL1KEEP
	SUB  $1, R1
	CBNZ R1, next

done:
	RET
