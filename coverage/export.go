package coverage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// exportFormat is the first line's format; it changes when the lines do. The schema version of the values is separate.
const exportFormat = "coverage-export/v1"

type exportHead struct {
	Format string `json:"format"`
	Schema int    `json:"schema"`
}

type exportLine struct {
	Bucket string `json:"b,omitempty"`
	Key    string `json:"k,omitempty"`
	Value  []byte `json:"v,omitempty"`

	// The last line.
	End  bool   `json:"end,omitempty"`
	Rows int    `json:"rows,omitempty"`
	Sum  uint32 `json:"sum,omitempty"`
}

// Export writes the whole ledger as JSON lines: a head, one line per value, and an end with count and checksum.
func Export(ctx context.Context, s Store, w io.Writer) error {
	err := s.View(ctx, func(tx Tx) error {
		v, err := schemaOf(tx, Schema)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(w)
		e := exporter{enc: json.NewEncoder(out)}
		e.enc.SetEscapeHTML(false)
		if err := e.enc.Encode(exportHead{exportFormat, v}); err != nil {
			return err
		}
		for _, b := range buckets() {
			tx.Ascend(b, "", func(k string, v []byte) bool {
				e.line(b, k, v)
				return e.err == nil && ctx.Err() == nil
			})
			if err := errors.Join(e.err, ctx.Err()); err != nil {
				return err
			}
		}
		if err := e.enc.Encode(exportLine{End: true, Rows: e.rows, Sum: e.sum}); err != nil {
			return err
		}
		return out.Flush()
	})
	if err != nil {
		return fmt.Errorf("export ledger: %w", err)
	}
	return nil
}

type exporter struct {
	enc  *json.Encoder
	rows int
	sum  uint32
	err  error
}

func (e *exporter) line(bucket, key string, value []byte) {
	e.rows++
	e.sum = addSum(e.sum, bucket, key, value)
	e.err = e.enc.Encode(exportLine{Bucket: bucket, Key: key, Value: value})
}

func addSum(sum uint32, bucket, key string, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum = crc32.Update(sum, table, []byte(bucket+sep+key+sep))
	return crc32.Update(sum, table, value)
}

// importBatch is how many values one transaction of an import holds.
const importBatch = 5000

// Import reads what Export wrote into an empty store. Until it has returned nil the store does not open as a ledger. An
// export of a later version is ErrNewer, one that is cut or altered is ErrDamaged.
func Import(ctx context.Context, s Store, r io.Reader) error {
	if err := importAll(ctx, s, r); err != nil {
		return fmt.Errorf("import ledger: %w", err)
	}
	return nil
}

// ErrNotEmpty: an import never mixes with what is there.
var ErrNotEmpty = errors.New("ledger is not empty")

func importAll(ctx context.Context, s Store, r io.Reader) error {
	dec := json.NewDecoder(bufio.NewReader(r))
	var head exportHead
	if err := dec.Decode(&head); err != nil {
		return damaged("no export: %v", err)
	}
	switch {
	case head.Format != exportFormat:
		return damaged("its format is %q, not %q", head.Format, exportFormat)
	case head.Schema > Schema:
		return fmt.Errorf("%w: the export has schema version %d, this program reads %d", ErrNewer, head.Schema, Schema)
	}
	if err := s.Update(ctx, beginImport); err != nil {
		return err
	}
	im := importer{dec: dec}
	for !im.end {
		if err := s.Update(ctx, im.batch); err != nil {
			return err
		}
	}
	return s.Update(ctx, func(tx Tx) error { return tx.Delete(bMeta, "importing") })
}

func beginImport(tx Tx) error {
	for _, b := range buckets() {
		empty := true
		tx.Ascend(b, "", func(string, []byte) bool { empty = false; return false })
		if !empty {
			return ErrNotEmpty
		}
	}
	return tx.Put(bMeta, "importing", []byte{1})
}

type importer struct {
	dec  *json.Decoder
	rows int
	sum  uint32
	end  bool
}

func (im *importer) batch(tx Tx) error {
	for range importBatch {
		var l exportLine
		if err := im.dec.Decode(&l); err != nil {
			return damaged("the export is cut or altered after %d values: %v", im.rows, err)
		}
		if l.End {
			if l.Rows != im.rows || l.Sum != im.sum {
				return damaged("the export does not add up: %d values of %d", im.rows, l.Rows)
			}
			im.end = true
			return nil
		}
		im.rows++
		im.sum = addSum(im.sum, l.Bucket, l.Key, l.Value)
		if err := tx.Put(l.Bucket, l.Key, l.Value); err != nil {
			return err
		}
	}
	return nil
}
