package fsck

// Linked lets a test write a forged chain.
var Linked = nextChain
