package auth

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// Record is the stored part of a key: everything but its secret.
type Record struct {
	ID            ID
	Kind          Kind
	Name          string // 1 to 64 characters, for people.
	Marketplace   uint16 // Ordinal of the one marketplace the key belongs to.
	Hash          [sha256.Size]byte
	CreatedMillis int64
	ExpiresMillis int64 // 0 means never.
}

// Record returns the record of a key. The times are Unix milliseconds; expiresMillis 0 means never.
func (k Key) Record(name string, marketplace uint16, createdMillis, expiresMillis int64) Record {
	return Record{
		ID: k.ID, Kind: k.Kind, Name: name, Marketplace: marketplace, Hash: k.hash(),
		CreatedMillis: createdMillis, ExpiresMillis: expiresMillis,
	}
}

// ErrRecord is returned for a stored value that is not a record of this version.
var ErrRecord = errors.New("not an API key record")

const (
	recordVersion = 1
	recordFixed   = 1 + 1 + 2 + 8 + 8 + idLen + sha256.Size // The name follows.
)

// Append appends the stored form: version, kind, marketplace, created, expires, id, hash, name; little-endian.
func (r *Record) Append(dst []byte) []byte {
	dst = append(dst, recordVersion, byte(r.Kind))
	dst = binary.LittleEndian.AppendUint16(dst, r.Marketplace)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.CreatedMillis)) // Read back the same way.
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.ExpiresMillis)) // Read back the same way.
	dst = append(dst, r.ID[:]...)
	dst = append(dst, r.Hash[:]...)
	return append(dst, r.Name...)
}

// ReadRecord reads the stored form, or returns ErrRecord. The record does not alias value.
func ReadRecord(value []byte) (Record, error) {
	if len(value) < recordFixed || value[0] != recordVersion || Kind(value[1]).String() == "" {
		return Record{}, ErrRecord
	}
	r := Record{
		Kind:          Kind(value[1]),
		Marketplace:   binary.LittleEndian.Uint16(value[2:]),
		CreatedMillis: int64(binary.LittleEndian.Uint64(value[4:])),  // Written the same way.
		ExpiresMillis: int64(binary.LittleEndian.Uint64(value[12:])), // Written the same way.
		Name:          string(value[recordFixed:]),
	}
	copy(r.ID[:], value[20:])
	copy(r.Hash[:], value[20+idLen:])
	return r, nil
}
