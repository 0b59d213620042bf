#include "textflag.h"

// func equalLengthIDsAsm(ids *auction.ID, n int, first *byte, avail, length int, offset uint32, keys *market.ShortKeys, tags *uint64, mask uint64) int
//
// SI address of an id's opening quote   DI address of the id to store   BX length   CX ids left
// R8 last SI that may be read           R9 offset of the id's text      R10-R13 keys   R14, R15 tags and mask
// X1 the quote in all bytes: greater bytes are plain unless they are a backslash   X2 the backslash in all bytes
TEXT ·equalLengthIDsAsm(SB), NOSPLIT, $0-80
	MOVQ ids+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ first+16(FP), SI
	MOVQ avail+24(FP), R8
	MOVQ length+32(FP), BX
	MOVL offset+40(FP), R9
	MOVQ keys+48(FP), AX
	MOVQ tags+56(FP), R14
	MOVQ mask+64(FP), R15
	MOVQ 0(AX), R10
	MOVQ 8(AX), R11
	MOVQ 16(AX), R12
	MOVQ 24(AX), R13
	SUBQ BX, R8
	SUBQ $5, R8
	JLT  none
	ADDQ SI, R8
	MOVQ $0x2222222222222222, AX
	MOVQ AX, X1
	PUNPCKLQDQ X1, X1
	MOVQ $0x5c5c5c5c5c5c5c5c, AX
	MOVQ AX, X2
	PUNPCKLQDQ X2, X2
	TESTQ CX, CX
	JLE  none

next:
	CMPQ SI, R8
	JHI  done
	MOVL 1(SI)(BX*1), AX
	SHLL $8, AX
	CMPL AX, $0x222c2200 // Quote, comma, quote.
	JNE  done
	MOVQ 1(SI), X0
	MOVHPS -7(SI)(BX*1), X0
	MOVO X0, X3
	PCMPGTB X1, X3
	PCMPEQB X2, X0
	PANDN X3, X0
	PMOVMSKB X0, AX
	CMPL AX, $0xffff
	JNE  done
	MOVQ 1(SI), AX
	XORQ R10, AX
	MOVQ -7(SI)(BX*1), DX
	XORQ R11, DX
	MULQ DX
	XORQ R12, AX
	XORQ R13, DX
	MULQ DX
	XORQ DX, AX
	MOVQ AX, (DI)
	MOVL R9, 8(DI)
	MOVL BX, 12(DI)
	ANDQ R15, AX
	PREFETCHT0 (R14)(AX*8)
	ADDQ $16, DI
	LEAQ 3(SI)(BX*1), SI
	LEAL 3(R9)(BX*1), R9
	DECQ CX
	JNZ  next

done:
	MOVQ n+8(FP), AX
	SUBQ CX, AX
	MOVQ AX, ret+72(FP)
	RET

none:
	MOVQ $0, ret+72(FP)
	RET
