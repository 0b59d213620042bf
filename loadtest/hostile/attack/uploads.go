package attack

import (
	"context"
	"fmt"
	"net"
)

const (
	keylessUploads = 32 // Twice as many as blocked every upload in a security test.
	segmentUploads = 8  // Twice as many as blocked every upload of a segment there.
)

// uploads begins uploads and then sends nothing: of files without a key and without a signature, and of the segment of one tenant.
type uploads struct{}

func (uploads) Prepare(ctx context.Context, e *Env) error {
	_, err := e.API.Need(ctx, "PUT", public+"/segment-service/segments", []byte(`{"segments":[{"id":"held","name":"Held"}]}`))
	return err
}

func (uploads) Attack(ctx context.Context, e *Env) error {
	keyless := beginUpload("/uploads/assets/01234567-89ab-7def-8123-456789abcdef", "", "key")
	segment := beginUpload(public+"/segment-service/segments/held/upload", e.Tenant.ManagementKey, "file")
	several(2, func(i int) {
		if i == 0 {
			e.keepConnections(ctx, "keyless", e.Target.Manage, keylessUploads, keyless, nil)
		} else {
			e.keepConnections(ctx, "segment", e.Target.Manage, segmentUploads, segment, nil)
		}
	})
	return nil
}

// beginUpload sends the head of a form of 1 MiB and the beginning of its first part.
func beginUpload(path, key, part string) func(c net.Conn) error {
	authorization := ""
	if key != "" {
		authorization = "Authorization: Bearer " + key + "\r\n"
	}
	text := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n"+
		"--b\r\nContent-Disposition: form-data; name=%q; filename=\"f\"\r\n\r\nu", path, authorization, 1<<20, part)
	return func(c net.Conn) error { return write(c, text) }
}
