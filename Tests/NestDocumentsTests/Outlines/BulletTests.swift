import NestDocuments
import NestModel
import Testing

/// The plain text of Workflowy and Dynalist.
@Suite struct BulletTests {
    static let workflowy = """
        - Trip #summer @ann
          "when it is "warm"
          and not before May"
          - [COMPLETE] Rent a van
            - [COMPLETE] call
          -
        - ideas

        """
    static let dynalist = """
        - Trip !(2026-01-02) #summer
            when it is warm

            and dry
            - [x] Rent a van
            - [ ] call
        - ideas

        """

    @Test func theTextOfWorkflowyIsRead() throws {
        #expect(
            try brief(Self.workflowy, .workflowy) == [
                "0|Trip #summer @ann|note:when it is \"warm\"\nand not before May", "1|Rent a van|x", "2|call|x", "1|",
                "0|ideas",
            ]
        )
    }

    @Test func theTextOfDynalistIsRead() throws {
        #expect(
            try brief(Self.dynalist, .dynalist) == [
                "0|Trip !(2026-01-02) #summer|note:when it is warm\n\nand dry", "1|Rent a van|x",
                #"1|call|{"checkbox": "true"}"#, "0|ideas",
            ]
        )
    }

    /// Notes end with the next item, whatever their quotation marks; other bullets and indentations are known too.
    @Test func otherFormsAreRead() throws {
        #expect(
            try brief("- a\n  \"one\ntwo\"\n- b\n  \"open\n  - c\n    plain\n", .workflowy) == [
                "0|a|note:one\ntwo", "0|b|note:\"open", "1|c|note:plain",
            ]
        )
        #expect(try brief("* a\n\t• b\n\t\tn\n\t- c", .dynalist) == ["0|a", "1|b|note:n", "1|c"])
        let titled = try readOutline(Array("Title\n- a\nmore\n".utf8), .workflowy)
        #expect(titled.rows.map(brief) == ["0|Title", "0|a", "0|more"])
        #expect(titled.warnings == ["lines without a bullet, read as items: 2"])
    }

    @Test func textsThatWouldBeMarksAreEscaped() throws {
        let rows = [
            OutlineRow(depth: 0, title: "[COMPLETE] a", note: "one\n- two\n \n"), OutlineRow(depth: 0, title: " b\nc"),
        ]
        let text = "- \\[COMPLETE] a\n  \"one\n  \\- two\n  \\\\x20\n  \"\n- \\ b\\nc\n"
        #expect(try writtenText(rows, .workflowy) == text)
        #expect(try readOutline(Array(text.utf8), .workflowy).rows == rows)
        #expect(try writtenText([OutlineRow(depth: 0, title: "[x]", note: "")], .dynalist) == "- \\[x\\x5d\n    \\\n")
    }

    @Test func lossesAreCounted() throws {
        var row = OutlineRow(depth: 0, title: "a", extra: #"{"checkbox": "true", "b": 1}"#)
        row.attributes = [OutlineAttribute("size", .number("1")), OutlineAttribute("none", .null)]
        let written = try writeOutline([row], .dynalist)
        #expect(String(decoding: written.bytes, as: UTF8.self) == "- [ ] a\n")
        #expect(
            written.warnings == [
                "attributes left out (Dynalist's text cannot hold them): 1",
                "items whose extra was left out (Dynalist's text cannot hold it): 1",
            ]
        )
        #expect(try writtenText([row], .workflowy) == "- a\n")
    }
}
