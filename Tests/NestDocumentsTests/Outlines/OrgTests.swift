import NestDocuments
import NestModel
import Testing

@Suite struct OrgTests {
    static let file = """
        #+TITLE: Trip
        #+TODO: TODO WAITING(w@/!) | DONE CUT(c)

        Before the first headline.
        * WAITING [#A] Pack :home:@ann:
        DEADLINE: <2026-01-02 Fri 10:00 +1w>
        :PROPERTIES:
        :Effort: 1:30
        :ID: 7
        :END:
        Two bags:
          - one
          - [ ] two

        #+BEGIN_SRC sh
        ,* no headline
        #+END_SRC
        ** DONE Socks
        CLOSED: [2026-01-01 Thu]
        ** CUT Hat
        * TODO
        * [#B] 50% [1/2] *bold*
        :LOGBOOK:
        - a line
        :END:

        """

    @Test func aFileOfOrgIsRead() throws {
        let rows = try readOutline(Array(Self.file.utf8), .org).rows
        #expect(rows.map(\.title) == ["Pack", "Socks", "Hat", "", "50% [1/2] *bold*"])
        #expect(rows.map(\.depth) == [0, 1, 1, 0, 0] && rows.map(\.done) == [false, true, true, false, false])
        #expect(
            rows[0].note == "Two bags:\n  - one\n  - [ ] two\n\n#+BEGIN_SRC sh\n,* no headline\n#+END_SRC"
                && rows[4].note == ":LOGBOOK:\n- a line\n:END:"
        )
        let preamble = #"#+TITLE: Trip\n#+TODO: TODO WAITING(w@/!) | DONE CUT(c)\n\nBefore the first headline."#
        #expect(
            rows[0].extra == #"{"Effort": "1:30", "ID": "7", "deadline": "<2026-01-02 Fri 10:00 +1w>", "#
                + #""preamble": "\#(preamble)", "priority": "A", "tags": ["home", "@ann"], "todo": "WAITING"}"#
        )
        #expect(
            rows[1...].map(\.extra) == [
                #"{"closed": "[2026-01-01 Thu]"}"#, #"{"done": "CUT"}"#, #"{"todo": "TODO"}"#, #"{"priority": "B"}"#,
            ]
        )
    }

    /// A headline is a headline also in a block. Without stars and a space it is none.
    @Test func headlinesBeginInBlocksToo() throws {
        #expect(
            try brief("* a\n#+BEGIN_SRC\n* b\n#+END_SRC\n", .org) == ["0|a|note:#+BEGIN_SRC", "0|b|note:#+END_SRC"]
        )
        #expect(try brief("* a\n*b*\n * c\n**\n", .org) == ["0|a|note:*b*\n * c\n**"])
        let levels = try readOutline(Array("** a\n*** b\n* c\n*** d\n".utf8), .org)
        #expect(levels.rows.map(brief) == ["0|a", "1|b", "0|c", "1|d"])
        #expect(levels.warnings == ["headlines that skip levels, moved up: 2"])
    }

    @Test func whiteSpaceIsLayout() throws {
        let text =
            "\n* TODO   a      :x:\n\n   SCHEDULED: <2026-01-02 Fri>\n\n* b\n  DEADLINE:   <2026-01-02 Fri>\n  :properties:\n  :a:   1\n  :End:\n\n text \n\n"
        #expect(
            try brief(text, .org) == [
                #"0|a|note:   SCHEDULED: <2026-01-02 Fri>|{"tags": ["x"], "todo": "TODO"}"#,
                #"0|b|note: text |{"a": "1", "deadline": "<2026-01-02 Fri>"}"#,
            ]
        )
    }

    /// The words of a file replace TODO and DONE, and only before its first headline.
    @Test func keywordsAreThoseOfTheFile() throws {
        let read = try readOutline(
            Array("#+seq_todo: A B\n#+TYP_TODO: | C\n* A a\n* B b\n* C c\n* TODO d\n#+TODO: X | Y\n* Y e\n".utf8),
            .org
        )
        #expect(read.rows.map(\.title) == ["a", "b", "c", "TODO d", "Y e"])
        #expect(read.rows.map(\.done) == [false, true, true, false, false])
        #expect(read.warnings == ["lines like #+TODO: without effect (they are after the first headline): 1"])
        // Without a word that means done, DONE does.
        #expect(try brief("#+TODO: A |\n* DONE a\n* A b\n", .org).map { $0.prefix(5) } == ["0|a|x", "0|b|{"])
    }

    /// A mark that has changed gets the usual keyword; the one of the file is no longer true.
    @Test func changedMarksHaveTheUsualKeyword() throws {
        var rows = try readOutline(Array("#+TODO: A | B C\n* A a\n* C c\n".utf8), .org).rows
        for index in rows.indices { rows[index].done.toggle() }
        #expect(try writtenText(rows, .org) == "#+TODO: A | B C\n* B a\n* c\n")
        let alone = try writeOutline([OutlineRow(depth: 0, title: "a", extra: #"{"todo": "A"}"#)], .org)
        #expect(String(decoding: alone.bytes, as: UTF8.self) == "* a\n:PROPERTIES:\n:todo: A\n:END:\n")
        #expect(
            alone.warnings == ["keywords written as properties (no line #+TODO: before the headlines has them): 1"]
        )
    }

    /// A drawer that is no list of different properties is text. So are dates with anything else on their line.
    @Test func whatIsNoPropertyIsText() throws {
        for text in [
            ":PROPERTIES:\n:a: 1\n:a: 2\n:END:", ":PROPERTIES:\nno\n:END:", ":PROPERTIES:\n:a: 1",
            "SCHEDULED: <2026-01-02 Fri> and more", "SCHEDULED: tomorrow", "<2026-01-02 Fri>",
        ] {
            let rows = try readOutline(Array("* a\n\(text)\n".utf8), .org).rows
            #expect(rows.map(\.note) == [text] && rows[0].extra == nil)
            #expect(try writtenText(rows, .org) == "* a\n\(text)\n")
        }
        let named = try readOutline(Array("* a :x:\n:PROPERTIES:\n:tags: 1\n:END:\n".utf8), .org).rows
        #expect(named.map(brief) == [#"0|a|note::PROPERTIES:\#n:tags: 1\#n:END:|{"tags": ["x"]}"#])
    }

    @Test func unusualOrdersAreKept() throws {
        let text = "* a\nSCHEDULED: <2026-01-02 Fri> CLOSED: [2026-01-01 Thu]\n:PROPERTIES:\n:b: 1\n:a: 2\n:END:\n"
        let rows = try readOutline(Array(text.utf8), .org).rows
        #expect(rows[0].extra?.contains(#""property order": "scheduled closed b a""#) == true)
        #expect(try writtenText(rows, .org) == text)
    }

    @Test func textsThatWouldBeMarksAreEscaped() throws {
        let rows = [
            OutlineRow(depth: 0, title: "TODO a", note: "* b\n\\c\n** d"), OutlineRow(depth: 0, title: "a :b:"),
            OutlineRow(depth: 0, title: "one\ntwo", note: "\nSCHEDULED: <2026-01-02 Fri>\n"),
            OutlineRow(depth: 0, title: "\\n", note: "", extra: #"{"a b": 1, "c": "x\ny"}"#),
        ]
        let text = """
            * \\TODO a
            \\* b
            \\c
            \\** d
            * \\a :b\\x3a
            * \\one\\ntwo
            \\
            SCHEDULED: <2026-01-02 Fri>
            \\
            * \\n
            :PROPERTIES:
            :c: \\x\\ny
            :nest-extra: {"a b": 1}
            :END:
            \\

            """
        #expect(try writtenText(rows, .org) == text)
        #expect(try readOutline(Array(text.utf8), .org).rows == rows)
        #expect(try brief("* \\section{a}\n\\alpha\n", .org) == ["0|\\section{a}|note:\\alpha"])
    }

    @Test func aFileWithoutHeadlinesHasNoItems() throws {
        let read = try readOutline(Array("#+TITLE: a\n\ntext\n".utf8), .org)
        #expect(read.rows == [])
        #expect(read.warnings == ["lines left out (the file has no headline): 3"])
    }

    /// Attributes get the values of their names; those that are dates, as dates.
    @Test func attributesAreProperties() throws {
        var fields = OutlineFields()
        fields.attributes = ["deadline", "closed", "seen", "priority", "tags", "size"]
        fields.dates = ["deadline", "closed", "seen"]
        let text = """
            * DONE [#A] a :x:y:
            CLOSED: [2026-01-01 Thu] DEADLINE: <2026-01-02 Fri 10:00>
            :PROPERTIES:
            :seen: 2026-01-02T10:00:01.000000Z
            :size: 1.5
            :END:

            """
        let read = try readOutline(Array(text.utf8), .org, ReadingOptions(fields: fields))
        let values = read.rows[0].attributes.map { "\($0.name)=\($0.value.text)" }
        #expect(
            values == [
                #"closed="2026-01-01""#, #"deadline="2026-01-02T10:00:00Z""#, #"priority="A""#,
                #"seen="2026-01-02T10:00:01.000000Z""#, #"size="1.5""#, #"tags="x y""#,
            ]
        )
        #expect(read.warnings == [] && read.rows[0].extra == nil)
        let bytes = try writeOutline(read.rows, .org, WritingOptions(fields: fields)).bytes
        #expect(String(decoding: bytes, as: UTF8.self) == text)
        let cut = try readOutline(
            Array("* a\nDEADLINE: <2026-01-02 Fri 10:00-11:00 +1w -2d>\n".utf8),
            .org,
            ReadingOptions(fields: fields)
        )
        #expect(cut.rows[0].attributes.map(\.value) == [.string("2026-01-02T10:00:00Z")])
        #expect(cut.warnings == ["repeaters, ranges and delays of dates left out: 1"])
    }
}
