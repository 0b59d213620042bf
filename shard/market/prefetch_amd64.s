#include "textflag.h"

// func prefetch(tags *uint64, mask uint64, first *uint64, stride, n uintptr)
TEXT ·prefetch(SB), NOSPLIT, $0-40
	MOVQ tags+0(FP), DI
	MOVQ mask+8(FP), SI
	MOVQ first+16(FP), DX
	MOVQ stride+24(FP), R8
	MOVQ n+32(FP), CX
	TESTQ CX, CX
	JZ   done

next:
	MOVQ (DX), AX
	ANDQ SI, AX
	PREFETCHT0 (DI)(AX*8)
	ADDQ R8, DX
	DECQ CX
	JNZ  next

done:
	RET

// func prefetchLines(lines *uintptr, n uintptr)
TEXT ·prefetchLines(SB), NOSPLIT, $0-16
	MOVQ lines+0(FP), SI
	MOVQ n+8(FP), CX
	TESTQ CX, CX
	JZ   done

next:
	MOVQ (SI), AX
	PREFETCHT0 (AX)
	ADDQ $8, SI
	DECQ CX
	JNZ  next

done:
	RET
