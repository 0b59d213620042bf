package replication

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

var (
	bucketLogs   = []byte("logs")
	bucketStable = []byte("stable")
)

// boltStore is a raft log on bbolt with an fsync for every batch, like raft-boltdb, which does not build with raft v1.8.0.
type boltStore struct{ db *bbolt.DB }

func openBolt(path string) (boltStore, error) {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return boltStore{}, err
	}
	return boltStore{db}, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucketLogs)
		_, err2 := tx.CreateBucketIfNotExists(bucketStable)
		return errors.Join(err, err2)
	})
}

func key(index uint64) []byte { return binary.BigEndian.AppendUint64(nil, index) }

func (s boltStore) end(last bool) (index uint64, err error) {
	return index, s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketLogs).Cursor()
		k, _ := c.First()
		if last {
			k, _ = c.Last()
		}
		if k != nil {
			index = binary.BigEndian.Uint64(k)
		}
		return nil
	})
}

// FirstIndex and the methods below implement raft.LogStore and raft.StableStore.
func (s boltStore) FirstIndex() (uint64, error) { return s.end(false) }

func (s boltStore) LastIndex() (uint64, error) { return s.end(true) }

func (s boltStore) GetLog(index uint64, l *raft.Log) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		v := tx.Bucket(bucketLogs).Get(key(index))
		if v == nil {
			return raft.ErrLogNotFound
		}
		*l = raft.Log{Index: index, Term: binary.BigEndian.Uint64(v), Type: raft.LogType(v[8]), Data: append([]byte(nil), v[9:]...)}
		return nil
	})
}

func (s boltStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s boltStore) StoreLogs(logs []*raft.Log) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketLogs)
		for _, l := range logs {
			v := append(binary.BigEndian.AppendUint64(nil, l.Term), byte(l.Type))
			if err := b.Put(key(l.Index), append(v, l.Data...)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s boltStore) DeleteRange(low, high uint64) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		for i := low; i <= high; i++ {
			if err := tx.Bucket(bucketLogs).Delete(key(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s boltStore) Set(k, v []byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketStable).Put(k, v) })
}

func (s boltStore) Get(k []byte) (v []byte, err error) {
	return v, s.db.View(func(tx *bbolt.Tx) error {
		if found := tx.Bucket(bucketStable).Get(k); found != nil {
			v = append([]byte(nil), found...)
		}
		return nil
	})
}

func (s boltStore) SetUint64(k []byte, n uint64) error {
	v, _ := json.Marshal(n) // Marshalling a number cannot fail.
	return s.Set(k, v)
}

func (s boltStore) GetUint64(k []byte) (n uint64, err error) {
	v, err := s.Get(k)
	if err != nil || v == nil {
		return 0, err
	}
	return n, json.Unmarshal(v, &n)
}

func (s boltStore) Close() error { return s.db.Close() }
