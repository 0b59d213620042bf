// Package ingress decides what both listeners accept from the network before a request is served: how many connections
// are open, how a request is framed, and how files are uploaded.
//
// # Connections
//
// A Listener bounds how many connections are open at the same time. At the bound it closes connections without requests
// in favour of new ones, so that they can neither use up the file descriptors of the process nor keep out clients with
// a valid key.
//
// # Heads
//
// A Checker checks the framing of HTTP/1 requests on a connection before the server reads them. It refuses bytes that
// two readers could parse as different requests (request smuggling). Both listeners of the node use it, so they agree.
//
// The bytes are checked before parsing, because a parsed request no longer shows what made it ambiguous: net/http drops
// a Content-Length beside a Transfer-Encoding, merges equal lengths and unfolds lines; fasthttp keeps trailers as if
// they had been in the head. DESIGN.md has the reasons.
//
// # Uploads
//
// An UploadLimiter bounds how many uploads of files a node accepts at the same moment and how many of them one
// marketplace may have; an UploadBody bounds how long a client may take to prove its permission and how slowly it may
// send.
//
// INVARIANT: an upload counts towards the bounds only after the client has proved its permission. A handler first reads
// and checks the proof, within UploadFormTimeout, then calls UploadLimiter.Acquire for the marketplace that the
// permission is for, and then reads the file, at UploadMinRate or faster.
package ingress
