import NestDocuments
import NestModel
import NestTestSupport
import Testing

@Suite struct TableTests {
    @Test func columnsAreFoundByTheirNames() throws {
        let text = "\u{feff}Level,Title,Notes,Completed,Due date\r\n1,a,,x,\r\n2,b,n,no,2026-11-21\r\n\r\n1,c\r\n"
        #expect(try brief(text, .csv) == ["0|a|x", "1|b|note:n|{\"Due date\": \"2026-11-21\"}", "0|c"])
        #expect(try brief("id;parent;name\n2;1;b\n1;;a", .csv) == ["0|a", "1|b"])
        #expect(try brief("title\tdone\na,b;c\tYES\n", .tsv) == ["0|a,b;c|x"])
        #expect(try brief("title\na\n\"\"\n", .csv) == ["0|a", "0|"])
        #expect(try brief("title,note", .csv) == [])
        #expect(
            try brief("title,extra,more\na,\"{\"\"x\"\": 1}\",m\nb,plain,\n", .csv) == [
                "0|a|{\"more\": \"m\", \"x\": 1}", "0|b|plain",
            ]
        )
    }

    @Test func quotedCellsAreRead() throws {
        let text = "title,note\n\"a, \"\"b\"\"\nc\",\"\"\n\" d \",x \"y\" z\r\"e\r\nf\",\n"
        #expect(try brief(text, .csv) == ["0|a, \"b\"\nc|note:", "0| d |note:x \"y\" z", "0|e\r\nf"])
    }

    /// Text that a spreadsheet would read as a formula is written and read unchanged.
    @Test func formulasAreWrittenUnchanged() throws {
        for title in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "=cmd|'/c calc'!A1"] {
            for format in [OutlineFormat.csv, .tsv] {
                let bytes = try writeOutline([OutlineRow(depth: 0, title: title)], format).bytes
                #expect(try readOutline(bytes, format).rows.map(\.title) == [title])
            }
        }
    }

    @Test func errorsHaveALocation() throws {
        #expect(fault("a,b\n1,2", .csv)?.message.contains("must name a column \"title\"") == true)
        #expect(fault("title,title\n", .csv) == FormatError(line: 1, column: 7, "a second column \"title\""))
        #expect(
            fault("title,level\na,0\nb,x", .csv)
                == FormatError(line: 3, column: 3, "the level is not a number from 0 but \"x\"")
        )
        #expect(fault("title,done\n\"a\nb\",maybe", .csv)?.line == 3)
        #expect(
            fault("title\n\"a\nb", .csv) == FormatError(line: 2, column: 1, "a cell has no closing quote")
        )
        #expect(
            fault("title\n\"a\"b", .csv)
                == FormatError(line: 2, column: 4, "a delimiter or line end must follow the closing quote of a cell")
        )
        #expect(fault("title,note\na,,b", .csv) == FormatError(line: 2, column: 4, "a cell after the last column"))
        #expect(
            fault(Array("title\na\r\n".utf8) + [0xff], .csv)
                == FormatError(line: 3, column: 1, "a cell is not valid UTF-8")
        )
        #expect(fault([0xff, 0xfe, 0x61, 0x00], .csv)?.message.contains("UTF-16") == true)
        #expect(fault("title,parent\na,9", .csv)?.message == "its parent 9 is not in the file")
    }
}
