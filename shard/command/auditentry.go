package command

import "encoding/binary"

// AuditEntry is an entry of the audit log: who requested a change through the management API, and what. The command that
// makes the change carries it, and Apply stores it in the same batch, as a record of the kind RecordAudit in the
// command's own group: so a change never lacks its entry, and a refused or repeated command leaves none, whatever stops
// between the commit and the answer.
//
// An entry is encoded as a flag in the header and as bytes at the end of the body, behind those of a Notice and in front
// of those of an Attempt: marketplace u16, id, value, length of the id u8, length of the value u32.
type AuditEntry struct {
	Marketplace uint16
	ID          string // Of the record; 1 to AuditIDMax bytes. A group stores one entry of an id.
	Value       []byte // Opaque to the engine; 1 to AuditValueMax bytes.
}

// Bounds of an AuditEntry.
const (
	AuditIDMax    = 64       // BOUND: bytes of the id: a time and a UUID as text have 52.
	AuditValueMax = 64 << 10 // BOUND: bytes of the value: twice what the longest texts of a request need.
)

const (
	flagAuditEntry = 4
	auditEntryLen  = 2 + 1 + 4 // Bytes of an entry beside its id and value.
)

// AppendAuditEntry makes a command carry an entry. REQUIRES: the command is a management command, is no attempt yet, and
// has its notice already, if it carries one. OWNERSHIP: the result reuses the memory of cmd.
func AppendAuditEntry(cmd []byte, e *AuditEntry) []byte {
	cmd[flagsAt] |= flagAuditEntry
	cmd[levelAt] = max(cmd[levelAt], byte(LevelAuditEntries))
	cmd = binary.LittleEndian.AppendUint16(cmd, e.Marketplace)
	cmd = append(append(cmd, e.ID...), e.Value...)
	cmd = append(cmd, byte(len(e.ID))) // At most AuditIDMax.
	return seal(binary.LittleEndian.AppendUint32(cmd, clampU32(len(e.Value))), 0)
}

// mayCarryAuditEntry reports whether commands of a kind may carry an entry: those that a request may propose.
func (op Op) mayCarryAuditEntry() bool { return op.mayBeAttempt() }

// splitAuditEntry splits the entry off the end of a body. ok is false when the body does not end with one.
func splitAuditEntry(body []byte) (rest []byte, e *AuditEntry, ok bool) {
	if len(body) < auditEntryLen {
		return nil, nil, false
	}
	lengths := body[len(body)-5:]
	id, size := int(lengths[0]), uint64(binary.LittleEndian.Uint32(lengths[1:]))
	if id == 0 || id > AuditIDMax || size == 0 || size > AuditValueMax || uint64(id)+size > uint64(len(body)-auditEntryLen) {
		return nil, nil, false
	}
	value := len(body) - 5 - int(size) // Compared.
	at := value - id - 2
	return body[:at:at], &AuditEntry{
		Marketplace: binary.LittleEndian.Uint16(body[at:]), ID: string(body[at+2 : value]), Value: body[value : len(body)-5],
	}, true
}
