package offline

import (
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// table is a document that holds rows of values: sensor readings, an export.
type table struct {
	title   string
	columns []string
	rows    [][]string
}

// readTable reads a text as CSV (comma, semicolon or tab): a header without
// numbers, and at least three rows of as many fields. False for prose.
func readTable(title, text string) (table, bool) {
	for _, comma := range []rune{',', ';', '\t'} {
		header, _, _ := strings.Cut(text, "\n")
		if !strings.ContainsRune(header, comma) {
			continue
		}
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.TrimLeadingSpace = comma, true
		rows, err := r.ReadAll() // every row has as many fields as the first, else this is prose
		if err != nil || len(rows) < 4 || slices.ContainsFunc(rows[0], isNumber) {
			continue
		}
		t := table{title: title, columns: rows[0], rows: rows[1:]}
		for c := range t.columns {
			if len(t.numeric(c)) > 0 {
				return t, true
			}
		}
	}
	return table{}, false
}

func isNumber(s string) bool {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

type value struct {
	row int
	f   float64
}

// numeric returns the numbers of a column, nil unless nearly all of it are.
func (t table) numeric(column int) []value {
	var vs []value
	for i, row := range t.rows {
		if isNumber(row[column]) {
			f, _ := strconv.ParseFloat(strings.TrimSpace(row[column]), 64)
			vs = append(vs, value{i, f})
		}
	}
	if len(vs) == 0 || len(vs)*10 < len(t.rows)*9 {
		return nil
	}
	return vs
}

func median(fs []float64) float64 {
	fs = slices.Sorted(slices.Values(fs))
	n := len(fs)
	if n%2 == 1 {
		return fs[n/2]
	}
	return (fs[n/2-1] + fs[n/2]) / 2
}

// outliers returns values far from the rest, by the modified z-score over the
// median absolute deviation (Iglewicz and Hoaglin 1993, who advise 3.5; 5 here,
// since nobody wants a card for noise). A column that hardly moves has none.
func outliers(vs []value) []value {
	if len(vs) < 8 {
		return nil
	}
	fs := make([]float64, len(vs))
	for i, v := range vs {
		fs[i] = v.f
	}
	mid := median(fs)
	for i, v := range vs {
		fs[i] = math.Abs(v.f - mid)
	}
	spread := median(fs)
	if spread == 0 {
		return nil
	}
	var out []value
	for _, v := range vs {
		if 0.6745*math.Abs(v.f-mid)/spread > 5 {
			out = append(out, v)
		}
	}
	return out
}

// facts says what is in a table. previous is what the last run left: it holds
// how many rows there were. The summary depends on the table alone, so that a
// table which did not change is no news.
func (t table) facts(previous string) (summary string, odd, changes []string) {
	before := 0
	// The newest run stands first.
	if m := regexp.MustCompile(regexp.QuoteMeta(t.title) + `: (\d+) rows`).FindStringSubmatch(previous); m != nil {
		before, _ = strconv.Atoi(m[1])
		if n := len(t.rows) - before; n > 0 {
			changes = append(changes, t.title+" has "+plural(n, "new row"))
		} else if n < 0 {
			changes = append(changes, t.title+" has "+plural(-n, "row")+" fewer")
		}
	}
	parts := []string{fmt.Sprintf("%s: %d rows", t.title, len(t.rows))}
	for c, name := range t.columns {
		vs := t.numeric(c)
		if vs == nil || strings.EqualFold(name, "id") {
			continue
		}
		low, high := vs[0], vs[0]
		for _, v := range vs {
			if v.f < low.f {
				low = v
			}
			if v.f > high.f {
				high = v
			}
		}
		parts = append(parts, fmt.Sprintf("%s from %s to %s, last %s", name, number(low.f), number(high.f), number(vs[len(vs)-1].f)))
		for _, v := range outliers(vs) {
			if v.row < before && before <= len(t.rows) {
				continue // the last run has said so
			}
			odd = append(odd, fmt.Sprintf("%s: %s is %s in row %d (%s), far from the usual", t.title, name, number(v.f), v.row+1, t.label(v.row, c)))
		}
	}
	return strings.Join(parts, "; ") + ".", odd, changes
}

// label names a row by its first field that is not the value itself: the time,
// the sensor.
func (t table) label(row, column int) string {
	for c, f := range t.rows[row] {
		if c != column && strings.TrimSpace(f) != "" {
			return t.columns[c] + " " + f
		}
	}
	return "no label"
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
