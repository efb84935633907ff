import NestDocuments
import NestModel
import Testing

/// Items whose fields have other names than those of a nested list, and further attributes.
@Suite struct OutlineFieldsTests {
    private static var fields: OutlineFields {
        var fields = OutlineFields()
        fields.title = "name"
        fields.note = nil
        fields.done = "isOpen"
        fields.hasExtra = false
        fields.attributes = ["title", "size", "level_"]
        return fields
    }

    private static func row(_ depth: Int, _ name: String, _ attributes: [OutlineAttribute]) -> OutlineRow {
        var row = OutlineRow(depth: depth, title: name, done: depth > 0)
        row.attributes = attributes
        return row
    }

    private static let rows = [
        row(0, "a", [OutlineAttribute("title", .string("T")), OutlineAttribute("size", .number("1.5"))]),
        row(1, "b", [OutlineAttribute("size", .null), OutlineAttribute("level_", .boolean(true))]),
    ]

    private static func text(_ format: OutlineFormat) throws -> (text: String, warnings: [String]) {
        let written = try writeOutline(Self.rows, format, WritingOptions(title: "x", fields: Self.fields))
        return (String(decoding: written.bytes, as: UTF8.self), written.warnings)
    }

    @Test func attributesAreWrittenByTheirNames() throws {
        #expect(
            try Self.text(.jsonl).text == """
                {"depth":0,"name":"a","title":"T","size":1.5}
                {"depth":1,"name":"b","isOpen":true,"size":null,"level_":true}

                """
        )
        #expect(try Self.text(.csv).text == "level,name,isOpen,title,size,level_\n0,a,,T,1.5,\n1,b,yes,,,yes\n")
        #expect(try Self.text(.opml).text.contains(#"<outline text="a" title="T" size="1.5">"#))
        #expect(try Self.text(.opml).text.contains(#"<outline text="b" _complete="true" level_="yes"/>"#))
    }

    /// JSON keeps every value, even null.
    @Test(arguments: [OutlineFormat.json, .jsonl])
    func jsonKeepsEveryValue(_ format: OutlineFormat) throws {
        let bytes = Array(try Self.text(format).text.utf8)
        let read = try readOutline(bytes, format, ReadingOptions(fields: Self.fields))
        #expect(read.rows == Self.rows)
        #expect(read.rows.map(\.location.line) == (format == .jsonl ? [1, 2] : [2, 3]))
    }

    /// Tables and OPML keep every value as text. Tables also give its location.
    @Test func tablesAndOPMLKeepAttributesAsText() throws {
        let table = try readOutline(Array(try Self.text(.csv).text.utf8), .csv, ReadingOptions(fields: Self.fields))
        #expect(table.rows.map(\.title) == ["a", "b"])
        #expect(table.rows.map(\.done) == [false, true])
        #expect(
            table.rows[0].attributes == [
                OutlineAttribute("title", .string("T"), isText: true, location: TextLocation(line: 2, column: 6)),
                OutlineAttribute("size", .string("1.5"), isText: true, location: TextLocation(line: 2, column: 8)),
                OutlineAttribute("level_", .null, isText: true, location: TextLocation(line: 2, column: 12)),
            ]
        )
        let opml = try readOutline(Array(try Self.text(.opml).text.utf8), .opml, ReadingOptions(fields: Self.fields))
        #expect(opml.rows[1].attributes == [OutlineAttribute("level_", .string("yes"), isText: true)])
        #expect(opml.rows.allSatisfy { $0.extra == nil })
    }

    /// The names that other programs use are understood only if no field or attribute here has the same name.
    @Test func ownNamesPrecedeForeignNames() throws {
        let json = Array(#"{"text":"a","title":"T"}"#.utf8)
        let rows = try readOutline(json, .jsonl, ReadingOptions(fields: Self.fields)).rows
        #expect(rows.map(\.title) == ["a"])
        #expect(rows[0].attributes == [OutlineAttribute("title", .string("T"))])
        let fault = #"line 1, column 1: an item without a title"#
        #expect(throws: FormatError(line: 1, column: 1, "an item without a title"), "\(fault)") {
            try readOutline(Array(#"{"title":"T"}"#.utf8), .jsonl, ReadingOptions(fields: Self.fields))
        }
    }

    @Test func attributesThatAFormatCannotHoldAreCounted() throws {
        #expect(try Self.text(.text).warnings.contains("attributes left out (text holds titles): 3"))
        #expect(try Self.text(.md).warnings == ["attributes left out (Markdown cannot hold them): 3"])
    }
}
