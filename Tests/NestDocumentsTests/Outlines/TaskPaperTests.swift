import NestDocuments
import NestModel
import Testing

@Suite struct TaskPaperTests {
    static let file = """
        A text of its own
        Trip: @home
        	- pack @next @due(2026-01-02) @done(2026-01-01 10:00)
        		a note

        			with depth
        		- socks @done
        	- @flag(a\\)b)
        	Hotel:
        		call first
        - mail ann@example.org @a here

        """

    @Test func aFileOfTaskPaperIsRead() throws {
        #expect(
            try brief(Self.file, .taskpaper) == [
                #"0|A text of its own|{"type": "note"}"#, #"0|Trip|{"tags": ["home"], "type": "project"}"#,
                "1|pack|x|note:a note\n\n\twith depth|"
                    + #"{"done": "2026-01-01 10:00", "due": "2026-01-02", "tags": ["next"]}"#,
                "2|socks|x", #"1||{"flag": "a)b"}"#, #"1|Hotel|note:call first|{"type": "project"}"#,
                "0|mail ann@example.org @a here",
            ]
        )
    }

    /// Indentation alone decides what is below what.
    @Test func spacesAreDepthToo() throws {
        #expect(
            try brief("A:\n  - b\n      note\n    - c\n  text\n- d", .taskpaper) == [
                #"0|A|{"type": "project"}"#, "1|b|note:note", "2|c", #"1|text|{"type": "note"}"#, "0|d",
            ]
        )
        #expect(try brief("A:\n- b\n", .taskpaper) == [#"0|A|{"type": "project"}"#, "0|b"])
        let uneven = try readOutline(Array("- a\n    - b\n  - c\n".utf8), .taskpaper)
        #expect(uneven.warnings == ["lines between two levels, moved to the nearest: 1"])
    }

    @Test func tagsWithinATextAreText() throws {
        let read = try readOutline(Array("- a @done b\n- c @x(1) @x(2)\n- d @tags(1)\n- @\n- a@b\n".utf8), .taskpaper)
        #expect(read.rows.map(brief) == ["0|a @done b", #"0|c @x(1)|{"x": "2"}"#, "0|d @tags(1)", "0|@", "0|a@b"])
        #expect(read.warnings == ["@done within a text, read as text: 1"])
        #expect(try writtenText(read.rows, .taskpaper) == "- a @done b\n- c @x(1) @x(2)\n- d @tags(1)\n- @\n- a@b\n")
    }

    @Test func unusualOrdersAreKept() throws {
        let text = "- a @b(1) @done @c @a(2)\n"
        let rows = try readOutline(Array(text.utf8), .taskpaper).rows
        #expect(rows.map(brief) == [#"0|a|x|{"a": "2", "b": "1", "tag order": "b done c a", "tags": ["c"]}"#])
        #expect(try writtenText(rows, .taskpaper) == text)
        var changed = rows
        changed[0].extra = #"{"a": "2", "tag order": "b done c a"}"#
        #expect(try writtenText(changed, .taskpaper) == "- a @done @a(2)\n")
    }

    @Test func textsThatWouldBeMarksAreEscaped() throws {
        let rows = [
            OutlineRow(depth: 0, title: "a @b", note: "- c\nd:\n e"), OutlineRow(depth: 0, title: "a:"),
            OutlineRow(depth: 1, title: "text", extra: #"{"type": "note"}"#),
            OutlineRow(depth: 0, title: "- x", extra: #"{"a b": 1, "c": "(x\n", "type": "note"}"#),
        ]
        let text = """
            - \\a \\x40b
            	\\- c
            	\\d\\x3a
            	 e
            - a:
            	- text @nest-extra({"type": "note"})
            \\- x @c(\\\\x28x\\n) @nest-extra({"a b": 1})

            """
        #expect(try writtenText(rows, .taskpaper) == text)
        #expect(try readOutline(Array(text.utf8), .taskpaper).rows == rows)
    }

    /// The date of a mark is no longer true when the mark is taken back.
    @Test func anOpenItemHasNoDateOfItsMark() throws {
        let written = try writeOutline(
            [OutlineRow(depth: 0, title: "a", extra: #"{"done": "2026-01-01"}"#)],
            .taskpaper
        )
        #expect(String(decoding: written.bytes, as: UTF8.self) == "- a\n")
        #expect(written.warnings == ["values of done marks left out (the items are not done): 1"])
    }

    /// Attributes get the values of their names; those that are dates, as dates.
    @Test func attributesAreTags() throws {
        var fields = OutlineFields()
        fields.attributes = ["due", "done", "size", "tags"]
        fields.dates = ["due", "done"]
        let text = "- a @next @due(2026-01-02 10:00) @size(1.5) @done(2026-01-01)\n"
        let read = try readOutline(Array(text.utf8), .taskpaper, ReadingOptions(fields: fields))
        #expect(read.rows[0].done && read.rows[0].extra == nil)
        #expect(
            read.rows[0].attributes.map { "\($0.name)=\($0.value.text)" } == [
                #"done="2026-01-01""#, #"due="2026-01-02T10:00:00Z""#, #"size="1.5""#, #"tags="next""#,
            ]
        )
        let bytes = try writeOutline(read.rows, .taskpaper, WritingOptions(fields: fields)).bytes
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }
}
