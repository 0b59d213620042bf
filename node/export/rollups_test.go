package export

import (
	"reflect"
	"testing"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// A counter that the engine adds is exported, too: with every counter set, no column of a number is 0, and each counter is in one.
func TestEveryCounterIsAColumn(t *testing.T) {
	cell := store.ExportedCell{Cell: 1}
	want, next := int64(0), int64(1)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Int64:
			v.SetInt(next)
			want, next = want+next, next*2
		case reflect.Struct:
			for _, field := range v.Fields() {
				fill(field)
			}
		case reflect.Array:
			for i := range v.Len() {
				fill(v.Index(i))
			}
		default:
			t.Fatalf("a counter of kind %s", v.Kind())
		}
	}
	fill(reflect.ValueOf(&cell.Counters).Elem())
	row := reflect.ValueOf(rollupRow(ids.Group(1), &cell))
	got := int64(0)
	for i := range row.NumField() {
		if f, name := row.Field(i), row.Type().Field(i).Name; f.Kind() == reflect.Int64 && name != "Cell" {
			if f.Int() == 0 {
				t.Errorf("%s is 0", name)
			}
			got += f.Int()
		}
	}
	if got != want {
		t.Errorf("the columns sum to %b, the counters to %b", got, want)
	}
}
