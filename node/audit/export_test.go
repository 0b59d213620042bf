package audit

// Linked lets a test forge a chain.
var Linked = linked
