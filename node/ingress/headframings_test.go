package ingress_test

import (
	"fmt"
	"strings"
)

// framing is one request of the corpus. Each is followed by another request, "next".
type framing struct {
	name, raw string
	want      string // The statuses of the answers: after "400" the connection is closed, "200 200" includes the next request.
	// management are the statuses of the management listener where they differ. why is the reason.
	management, why string
}

const (
	served  = "200 200"
	refused = "400"

	event   = `{"clicks":[]}` // 13 bytes.
	chunked = "Transfer-Encoding: chunked\r\n"
)

// corpus returns every framing that two readers were ever found to read differently, and the plain ones.
func corpus(key string) []framing {
	line := "POST /v2/events HTTP/1.1\r\n"
	auth := "Host: x\r\nAuthorization: Bearer " + key + "\r\n"
	fields := func(text string) string { return line + auth + text + "\r\n\r\n" }
	sized := func(text string) string { return line + auth + text + "Content-Length: 13\r\n\r\n" + event }
	chunks := func(text string) string { return line + auth + chunked + "\r\n" + text }
	requestLine := func(text string) string { return text + "\r\n" + auth + "Content-Length: 13\r\n\r\n" + event }
	const one = "d\r\n" + event + "\r\n"

	return []framing{
		{name: "a length", raw: sized(""), want: served},
		{name: "chunks", raw: chunks(one + "0\r\n\r\n"), want: served},
		{name: "chunks, upper case", raw: line + auth + "TRANSFER-encoding: Chunked\r\n\r\n" + one + "0\r\n\r\n", want: served},
		{name: "chunked between tabs", raw: line + auth + "Transfer-Encoding:\tchunked\t\r\n\r\n" + one + "0\r\n\r\n", want: served},
		{name: "a length between tabs", raw: line + auth + "Content-Length:\t13\t\r\n\r\n" + event, want: served},
		{name: "a length with zeros", raw: line + auth + "Content-Length: 0013\r\n\r\n" + event, want: served},

		{name: "length with encoding", raw: fields("Content-Length: 5\r\nTransfer-Encoding: chunked") + "0\r\n\r\n", want: refused},
		{name: "encoding with length", raw: fields("Transfer-Encoding: chunked\r\nContent-Length: 5") + "0\r\n\r\n", want: refused},
		{name: "two different lengths", raw: fields("Content-Length: 2\r\nContent-Length: 40") + "{}", want: refused},
		{name: "two equal lengths", raw: fields("Content-Length: 13\r\ncontent-length: 13") + event, want: refused},
		{name: "a list of lengths", raw: fields("Content-Length: 13, 13") + event, want: refused},
		{name: "a negative length", raw: fields("Content-Length: -2") + "{}", want: refused},
		{name: "a signed length", raw: fields("Content-Length: +13") + event, want: refused},
		{name: "a hexadecimal length", raw: fields("Content-Length: 0x2") + "{}", want: refused},
		{name: "an empty length", raw: fields("Content-Length: "), want: refused},
		{name: "a length that overflows", raw: fields("Content-Length: 18446744073709551629") + event, want: refused},
		{name: "a length with a blank inside", raw: fields("Content-Length: 1 3") + event, want: refused},
		{name: "a length with an underscore", raw: fields("Content-Length: 1_3") + event, want: refused},
		{name: "an unknown encoding", raw: fields("Transfer-Encoding: gzip") + "0\r\n\r\n", want: refused},
		{name: "an encoding before chunked", raw: fields("Transfer-Encoding: gzip, chunked") + "0\r\n\r\n", want: refused},
		{name: "chunked not last", raw: fields("Transfer-Encoding: chunked, gzip") + "0\r\n\r\n", want: refused},
		{name: "chunked twice", raw: fields("Transfer-Encoding: chunked, chunked") + "0\r\n\r\n", want: refused},
		{name: "chunked and a comma", raw: fields("Transfer-Encoding: chunked,") + "0\r\n\r\n", want: refused},
		{name: "two encodings", raw: fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity") + "0\r\n\r\n", want: refused},
		{name: "an empty encoding", raw: fields("Transfer-Encoding: "), want: refused},
		{name: "identity", raw: fields("Transfer-Encoding: identity"), want: refused},
		{name: "a disguised encoding", raw: fields("Transfer-Encoding: xchunked") + "0\r\n\r\n", want: refused},
		{name: "a vertical tab before chunked", raw: fields("Transfer-Encoding: \x0bchunked") + "0\r\n\r\n", want: refused},
		{name: "chunks in HTTP/1.0", raw: strings.Replace(chunks("0\r\n\r\n"), "1.1", "1.0", 1), want: refused},
		{name: "a name like the encoding's", raw: sized("Transfer_Encoding: chunked\r\n"), want: served},

		{name: "a blank in a name", raw: sized("X A: a\r\n"), want: refused},
		{name: "a blank before the colon", raw: fields("Content-Length : 13") + event, want: refused},
		{name: "a tab before the colon", raw: fields("Transfer-Encoding\t: chunked") + "0\r\n\r\n", want: refused},
		{name: "a bracket in a name", raw: sized("X(A): a\r\n"), want: refused},
		{name: "a byte above ASCII in a name", raw: sized("X\xe4: a\r\n"), want: refused},
		{name: "a null byte in a name", raw: fields("Content-\x00Length: 13") + event, want: refused},
		{name: "no name", raw: sized(": a\r\n"), want: refused},
		{name: "no colon", raw: fields("Content-Length 13") + event, want: refused},
		{name: "no value", raw: sized("X-A:\r\n"), want: served},
		{name: "a folded line", raw: sized("X-A: a\r\n b\r\n"), want: refused},
		{name: "a line folded by a tab", raw: sized("X-A: a\r\n\tb\r\n"), want: refused},
		{name: "a folded encoding", raw: fields("Transfer-Encoding:\r\n chunked") + "0\r\n\r\n", want: refused},
		{name: "a folded first line", raw: line + " X: y\r\n" + auth + "Content-Length: 13\r\n\r\n" + event, want: refused},
		{name: "a blank last line", raw: line + auth + "Content-Length: 13\r\n \r\n\r\n" + event, want: refused},
		{name: "a null byte in a value", raw: sized("X-A: a\x00b\r\n"), want: refused},
		{name: "a control character in a value", raw: sized("X-A: a\x01b\r\n"), want: refused},
		{name: "a carriage return in a value", raw: fields("X-A: a\rContent-Length: 13") + event, want: refused},
		{name: "two carriage returns", raw: sized("X-A: a\r\r\n"), want: refused},
		{name: "a byte above ASCII in a value", raw: sized("X-A: \xe4\r\n"), want: served},
		{name: "line feeds alone", raw: strings.ReplaceAll(fields("Content-Length: 13"), "\r\n", "\n") + event, want: served},
		{name: "a line feed alone at the end of the head", raw: line + auth + "Content-Length: 13\r\n\n" + event, want: served},

		{name: "a signed size", raw: chunks("+d\r\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "a size with 0x", raw: chunks("0xd\r\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "a size that overflows", raw: chunks("1000000000000000d\r\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "a size with very many zeros", raw: chunks(strings.Repeat("0", 40) + "d\r\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "a size with zeros", raw: chunks("000d\r\n" + event + "\r\n000\r\n\r\n"), want: served},
		{name: "a size behind a blank", raw: chunks(" d\r\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "a size before a blank", raw: chunks("d \r\n" + event + "\r\n0\r\n\r\n"), want: served},
		{name: "no size", raw: chunks("\r\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "a chunk longer than its size", raw: chunks("1\r\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "a size ended by a line feed", raw: chunks("d\n" + event + "\n0\n\n"), want: refused},
		{name: "a chunk ended by a line feed", raw: chunks("d\r\n" + event + "\n0\r\n\r\n"), want: refused},
		{name: "the last line a line feed", raw: chunks(one + "0\r\n\n"), want: refused},
		{name: "an extension", raw: chunks("d;a=b\r\n" + event + "\r\n0;c\r\n\r\n"), want: served},
		{name: "an extension behind a blank", raw: chunks("d ;a\r\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "an extension ended by a line feed", raw: chunks("d;a\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "a long extension", raw: chunks("d;" + strings.Repeat("a", 1100) + "\r\n" + event + "\r\n0\r\n\r\n"), want: refused},
		{name: "a trailer", raw: chunks(one + "0\r\nX-A: a\r\n\r\n"), want: refused},
		{name: "an announced trailer", raw: line + auth + "Trailer: X-A\r\n" + chunked + "\r\n" + one + "0\r\nX-A: a\r\n\r\n", want: refused},
		{name: "a trailer with a length", raw: chunks(one + "0\r\nContent-Length: 1\r\n\r\n"), want: refused},
		{name: "a trailer that is announced and does not come", raw: line + auth + "Trailer: X-A\r\n" + chunked + "\r\n" + one + "0\r\n\r\n", want: served},

		{name: "no host", raw: line + "Content-Length: 13\r\n\r\n" + event, want: refused},
		{name: "an empty host", raw: strings.Replace(sized(""), "Host: x", "Host: ", 1), want: refused},
		{name: "two hosts", raw: sized("Host: x\r\n"), want: refused},
		{name: "a host with a blank", raw: strings.Replace(sized(""), "Host: x", "Host: a b", 1), want: refused},
		{name: "expecting to go on", raw: sized("Expect: 100-continue\r\n"), want: served},
		{name: "expecting to go on, upper case", raw: sized("Expect: 100-Continue\r\n"), want: served},
		{name: "another expectation", raw: sized("Expect: miracles\r\n"), want: refused},
		{name: "a second expectation", raw: sized("Expect: 100-continue\r\nExpect: miracles\r\n"), want: refused},
		{name: "an empty expectation", raw: sized("Expect: \r\n"), want: refused},

		{name: "two blanks in the request line", raw: requestLine("POST  /v2/events HTTP/1.1"), want: refused},
		{name: "a blank behind the request line", raw: requestLine("POST /v2/events HTTP/1.1 "), want: refused},
		{name: "a blank before the request line", raw: requestLine(" POST /v2/events HTTP/1.1"), want: refused},
		{name: "a blank in the target", raw: requestLine("POST /v2/ev ents HTTP/1.1"), want: refused},
		{name: "a bracket in the method", raw: requestLine("PO(ST /v2/events HTTP/1.1"), want: refused},
		{name: "HTTP/1.10", raw: requestLine("POST /v2/events HTTP/1.10"), want: refused},
		{name: "HTTP/2.0", raw: requestLine("POST /v2/events HTTP/2.0"), want: refused},
		{name: "http/1.1", raw: requestLine("POST /v2/events http/1.1"), want: refused},
		{name: "HTTP/0.9", raw: "GET /healthz\r\n\r\n", want: refused},
		{name: "the preface of HTTP/2", raw: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", want: refused},
		{name: "HTTP/1.0", raw: requestLine("POST /v2/events HTTP/1.0"), want: "200"},
		{
			name: "HTTP/1.2", raw: requestLine("POST /v2/events HTTP/1.2"), want: "200", management: served,
			why: "fasthttp closes a connection of a version that it does not know",
		},

		{name: "GET with a body", raw: "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n" + event, want: served},
		// Chunks that cannot change the answer are not read; the connection is closed instead.
		{name: "GET with chunks", raw: "GET /healthz HTTP/1.1\r\nHost: x\r\n" + chunked + "\r\n" + one + "0\r\n\r\n", want: "200"},
		{name: "GET with a broken chunk", raw: "GET /healthz HTTP/1.1\r\nHost: x\r\n" + chunked + "\r\nx\r\n", want: "200"},
		{name: "HEAD with a body", raw: "HEAD /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n" + event, want: served},
		{name: "OPTIONS with a body", raw: "OPTIONS /v2/events HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n" + event, want: "204 200"},
		{name: "OPTIONS of everything", raw: "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", want: "404 200"},
		{
			name: "CONNECT", raw: "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", want: "400 200", management: "404 200",
			why: "to net/http an authority is no broken path but none; neither opens a tunnel",
		},
		{name: "no length", raw: line + auth + "\r\n", want: "400 200"}, // An empty body is no JSON; the framing is good.
		{name: "an empty line behind a POST", raw: sized("") + "\r\n", want: served},
		{
			name: "an empty line before the first request", raw: "\r\n" + sized(""), want: served, management: refused,
			why: "net/http skips empty lines behind a POST only",
		},
		{name: "a name longer than any", raw: sized(fmt.Sprintf("%s: a\r\n", strings.Repeat("content-length", 20))), want: served},
	}
}
