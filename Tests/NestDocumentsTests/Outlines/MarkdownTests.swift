import NestDocuments
import NestModel
import NestTestSupport
import Testing

@Suite struct MarkdownTests {
    @Test func bulletsTasksAndNestingAreRead() throws {
        #expect(
            try brief("- a\n  * [x] b\n    + [X]\tc\n  - [ ] d\n- [ ]\n-\n", .md) == [
                "0|a", "1|b|x", "2|c|x", "1|d", "0|", "0|",
            ]
        )
        #expect(try brief("1. a\n   - b\n2) c\n", .md) == ["0|a", "1|b", "0|c"])
        // The content sets the levels, not a fixed width. Tabs and slightly misaligned items are accepted.
        #expect(try brief("- a\n\t- b\n\t\t- c\n    - d\n - e", .md) == ["0|a", "1|b", "2|c", "1|d", "0|e"])
        #expect(try brief("1. a\n  - b\n     - c\n    - d", .md) == ["0|a", "1|b", "2|c", "2|d"])
        #expect(try brief("-a\n- - b\n10000000000. c", .md) == ["0|-a", "0|- b|note:10000000000. c"])
    }

    @Test func headingsContainTheItemsBelowThem() throws {
        let text = "# A\nabout a\n\n- x\n  - y\n\n## B ##\n- z\n# C#\n###\ntext\n"
        #expect(
            try brief(text, .md) == ["0|A|note:about a", "1|x", "2|y", "1|B", "2|z", "0|C#", "1||note:text"]
        )
        #expect(try brief("One\n===\n- a\n\nTwo\n---\n- b\n", .md) == ["0|One", "1|a", "1|Two", "2|b"])
    }

    @Test func textBelowAnItemIsItsNote() throws {
        #expect(
            try brief("- a\n  one\n  two\n\n  three\n- b\nlazy\n", .md) == [
                "0|a|note:one\ntwo\n\nthree", "0|b|note:lazy",
            ]
        )
        let late = try readOutline(Array("- a\n  - b\n\n  behind\n\nalone\nmore\n\nnext".utf8), .md)
        #expect(late.rows.map(brief) == ["0|a", "1|b", "1|behind", "0|alone|note:more", "0|next"])
        #expect(late.warnings == ["texts after the children of their item, read as items: 1"])
    }

    @Test func codeBlocksKeepEveryCharacter() throws {
        let text = "- a\n  ```sh\n  - no item\n    # no heading\n\n  \\- as it is\n  ```\n- b\n"
        #expect(try brief(text, .md) == ["0|a|note:```sh\n- no item\n  # no heading\n\n\\- as it is\n```", "0|b"])
        // Only a fence as long as the opening fence ends a code block.
        #expect(try brief("- a\n  ````\n  ```\n  - x\n  ````\n- b\n", .md) == ["0|a|note:````\n```\n- x\n````", "0|b"])
        // A code block without a closing fence ends with its item.
        #expect(try brief("- a\n  ~~~\n  - x\n- b\n", .md) == ["0|a|note:~~~\n- x", "0|b"])
    }

    @Test func lineEndsByteOrderMarksAndFrontMatterAreRead() throws {
        #expect(try brief("\u{feff}- a\r\n  - b\r- c", .md) == ["0|a", "1|b", "0|c"])
        let front = try readOutline(Array("---\ntitle: x\ntags:\n  - y\n---\n- a\n\n***\n1. b\n".utf8), .md)
        #expect(front.rows.map(brief) == ["0|a", "0|b"])
        #expect(
            front.warnings == [
                "lines of front matter left out: 5", "numbers of numbered items left out: 1", "rules left out: 1",
            ]
        )
        #expect(try brief("---\nno front matter\n", .md) == ["0|no front matter"])
        #expect(try brief("", .md) == [])
    }

    @Test func emphasisAndForeignEscapesAreKept() throws {
        #expect(try brief("- **a** `b` [c](d) \\*e\\* &amp; &lt;", .md) == ["0|**a** `b` [c](d) \\*e\\* &amp; &lt;"])
        #expect(
            try brief("- \\- a\n- 1\\. b\n- \\[x] c\n- \\# d\n- \\\\server", .md) == [
                "0|- a", "0|1. b", "0|[x] c", "0|# d", "0|\\\\server",
            ]
        )
    }

    @Test func writtenMarkdownIsConventional() throws {
        let rows = [
            OutlineRow(depth: 0, title: "Trip", note: "pack\n- not an item\n\nlast"),
            OutlineRow(depth: 1, title: "socks", done: true),
            OutlineRow(depth: 1, title: "1. first\n"),
            OutlineRow(depth: 0, title: "", extra: "{}"),
        ]
        let plain = try writeOutline(rows, .md)
        #expect(
            String(decoding: plain.bytes, as: UTF8.self)
                == "- Trip\n  pack\n  \\- not an item\n\n  last\n  - [x] socks\n  - 1\\. first&#10;\n-\n"
        )
        #expect(plain.warnings == ["items whose extra was left out (Markdown cannot hold it): 1"])
        let tasks = try writeOutline(rows, .md, WritingOptions(hasOpenBoxes: true))
        #expect(String(decoding: tasks.bytes, as: UTF8.self).hasPrefix("- [ ] Trip\n"))
    }

    @Test func errorsHaveALocation() throws {
        #expect(fault(Array("- a\n  - é".utf8) + [0xff], .md) == FormatError(line: 2, column: 6, "not valid UTF-8"))
        #expect(fault([0xff, 0xfe, 0x2d, 0], .md)?.message.contains("UTF-16") == true)
        #expect(fault("- a\n- b\u{0}", .md) == FormatError(line: 2, column: 1, "a NUL character in a title"))
        let long = String(repeating: "x", count: 9 * Limits.valueBytesMax)
        #expect(fault("- a\n- \(long)", .md)?.line == 2)
    }
}
