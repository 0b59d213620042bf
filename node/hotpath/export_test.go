package hotpath

// DeadlineSlack is by how much the deadline of a write may be later than the write timeout.
const DeadlineSlack = deadlineSlack

// PlainRequest is a request as the fast path reads it.
type PlainRequest struct {
	Target, Authorization, RequestID, ContentEncoding, Origin, Body string
	Size                                                            int
}

// ReadPlain parses the request at the begin of b as the fast path does, and reports whether it would answer it.
func ReadPlain(b []byte) (PlainRequest, bool) {
	r, v := parsePlain(b, headMax, 4<<20, fastPathBufferSize)
	return PlainRequest{
		Target: string(r.target), Authorization: string(r.authorization), RequestID: string(r.requestID),
		ContentEncoding: string(r.contentEncoding), Origin: string(r.origin), Body: string(r.body), Size: r.size,
	}, v == supported
}
