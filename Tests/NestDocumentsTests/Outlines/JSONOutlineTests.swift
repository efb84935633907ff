import NestDocuments
import NestModel
import NestTestSupport
import Testing

@Suite struct JSONTreeTests {
    @Test func itemsAreReadWithTheirChildren() throws {
        let text =
            #"[{"title":"a","note":"n","done":true,"children":[{"title":"b"},{"title":"c","children":[]}]},{"title":"d"}]"#
        #expect(try brief(text, .json) == ["0|a|x|note:n", "1|b", "1|c", "0|d"])
        #expect(try brief(#"{"title":"a","children":[{"title":"b"}]}"#, .json) == ["0|a", "1|b"])
        #expect(try brief("[]", .json) == [])
        #expect(try brief("", .json) == [])
        #expect(try brief("\u{feff} [ ]\n", .json) == [])
    }

    /// Members may be in any order, even with the children first.
    @Test func membersMayBeInAnyOrder() throws {
        let text = #"[{"children":[{"children":[{"title":"c"}],"title":"b"}],"done":false,"note":null,"title":"a"}]"#
        #expect(try brief(text, .json) == ["0|a", "1|b", "2|c"])
    }

    @Test func namesOfOtherProgramsAreRead() throws {
        let workflowy = #"[{"nm":"a","no":"n","cp":1700000000,"ch":[{"nm":"b","id":"x-1"}]}]"#
        #expect(try brief(workflowy, .json) == [#"0|a|x|note:n|{"cp": 1700000000}"#, #"1|b|{"id": "x-1"}"#])
        let both = #"[{"title":"t","text":"x","completed":"yes","children":null}]"#
        #expect(try brief(both, .json) == [#"0|t|x|{"text": "x"}"#])
        #expect(
            try brief(#"[{"title":12,"extra":{"a":1}},{"name":"n","extra":"plain","b":[1,{"c":2}]}]"#, .json) == [
                #"0|12|{"a": 1}"#, #"0|n|{"b": [1, {"c": 2}], "extra": "plain"}"#,
            ]
        )
    }

    @Test func stringsMayHoldAnyCharacters() throws {
        let text = #"[{"title":"}]\"{[\\","children":[{"title":"\u00e9\ud83d\ude00\n,"}]}]"#
        #expect(try brief(text, .json) == ["0|}]\"{[\\", "1|é😀\n,"])
    }

    @Test func errorsHaveALocation() throws {
        #expect(
            fault("[{\"title\":\"a\"}\n {\"title\":\"b\"}]", .json)
                == FormatError(line: 2, column: 2, "a comma or the array's end is expected here")
        )
        #expect(fault("[\n{\"title\":\"a\",\n\"done\":tru}]", .json)?.line == 3)
        #expect(fault("[{\"title\":\"a\"},\n {\"name\":1.5,\"x\":}]", .json)?.line == 2)
        #expect(
            fault("[{\"title\":\"a\",\"children\":[{\"title\":\"b\"}\n", .json)
                == FormatError(line: 2, column: 1, "the JSON ends too early")
        )
        #expect(fault("[{\"title\":\"a\"}] x", .json)?.message == "something follows the end of the array")
        #expect(fault("[1]", .json) == FormatError(line: 1, column: 2, "an item is expected here: a JSON object"))
        #expect(fault("[{\"titel\":\"a\"}]", .json)?.message == "an item without a title")
        #expect(fault("[{\"title\":[]}]", .json)?.message == "title is not a text but an array")
        #expect(
            fault("[{\"title\":\"a\",\"children\":[\"b\"]}]", .json)?.message == "children is not an array of objects"
        )
        #expect(fault("[{\"title\":\"a\",\"children\":[{\"title\":\"b\"} {\"title\":\"c\"}]}]", .json) != nil)
        #expect(fault("[{\"title\":\"a\",\"done\":\"maybe\"}]", .json)?.message.contains("neither yes nor no") == true)
        #expect(fault("[{\"title\":\"a\\u0000\"}]", .json)?.message == "a NUL character in a title")
        let nested = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        #expect(fault("[{\"title\":\"a\",\"x\":\(nested)}]", .json)?.message.contains("in one value") == true)
    }

    /// An item larger than the reader's buffer is read if its children are its last member.
    @Test func itemsLargerThanTheBufferAreReadIfChildrenAreLast() throws {
        let note = String(repeating: "n", count: 60_000)
        let child = #"{"title":"c","note":"\#(note)"}"#
        let children = Array(repeating: child, count: 160).joined(separator: ",")
        let last = Array(#"{"title":"a","x":1,"children":[\#(children)] }"#.utf8)
        let read = try readOutline(last, .json, pieceBytes: 1 << 18)
        #expect(read.rows.count == 161 && read.rows[0].extra == #"{"x": 1}"#)
        let first = Array(#"{"children":[\#(children)],"title":"a"}"#.utf8)
        do throws(FormatError) {
            _ = try readOutline(first, .json, pieceBytes: 1 << 18)
            Issue.record("an item with its title after its children was read")
        } catch {
            #expect(error.message == "an item without a title" && error.line == 1, "\(error)")
        }
        let late = Array(#"{"title":"a","children":[\#(children)],"done":true}"#.utf8)
        do throws(FormatError) {
            _ = try readOutline(late, .json, pieceBytes: 1 << 18)
            Issue.record("an item with a member after its children was read")
        } catch {
            #expect(error.message.contains("put \"children\" last"), "\(error)")
        }
    }
}

@Suite struct JSONLinesTests {
    @Test func depthsOrParentsGiveTheTree() throws {
        #expect(
            try brief(
                "{\"depth\":0,\"title\":\"a\"}\n\n{\"depth\":1,\"title\":\"b\"}\r\n{\"depth\":0,\"title\":\"c\"}",
                .jsonl
            ) == ["0|a", "1|b", "0|c"]
        )
        // A jump counts as one level, and the depth of the first line is the top level.
        #expect(try brief("{\"level\":3,\"title\":\"a\"}\n{\"level\":9,\"title\":\"b\"}", .jsonl) == ["0|a", "1|b"])
        let parents = #"""
            {"id":3,"parent":2,"title":"c"}
            {"id":1,"title":"a"}
            {"id":2,"parent":1,"title":"b"}
            {"id":"x","parent":null,"title":"d"}
            {"parent":"x","title":"e"}
            """#
        #expect(try brief(parents, .jsonl) == ["0|a", "1|b", "2|c", "0|d", "1|e"])
        #expect(
            try brief("{\"title\":\"a\",\"due\":\"2026-11-21\"}\n{\"title\":\"b\"}", .jsonl) == [
                "0|a|{\"due\": \"2026-11-21\"}", "0|b",
            ]
        )
    }

    @Test func errorsHaveALocation() throws {
        #expect(fault("{\"title\":\"a\"}\n{\"title\"}", .jsonl)?.line == 2)
        #expect(fault("{\"title\":\"a\"}\n[1]", .jsonl)?.message == "an item must be a JSON object")
        #expect(fault("{\"title\":\"a\",\"children\":[]}", .jsonl)?.message.contains("the format json") == true)
        #expect(fault("{\"depth\":0,\"title\":\"a\"}\n{\"title\":\"b\"}", .jsonl)?.line == 2)
        #expect(fault("{\"title\":\"a\"}\n{\"title\":\"b\",\"depth\":1}", .jsonl)?.line == 2)
        #expect(fault("{\"depth\":-1,\"title\":\"a\"}", .jsonl)?.message == "depth is not a number from 0")
        #expect(
            fault("{\"id\":1,\"title\":\"a\"}\n{\"id\":1,\"title\":\"b\"}", .jsonl)
                == FormatError(line: 2, column: 1, "a second item with the id 1")
        )
        #expect(
            fault("{\"id\":1,\"title\":\"a\",\"parent\":9}", .jsonl)
                == FormatError(line: 1, column: 1, "its parent 9 is not in the file")
        )
        let ring =
            "{\"id\":1,\"title\":\"a\"}\n{\"id\":2,\"parent\":3,\"title\":\"b\"}\n{\"id\":3,\"parent\":2,\"title\":\"c\"}"
        #expect(
            fault(ring, .jsonl) == FormatError(line: 2, column: 1, "the item is its own ancestor; correct its parent")
        )
    }

    @Test func rowsWithIDsAreWrittenWithTheirParents() throws {
        let rows = [
            OutlineRow(depth: 0, id: ObjectID(5), title: "a"),
            OutlineRow(depth: 1, id: ObjectID(6), title: "b", done: true),
        ]
        #expect(
            try writtenText(rows, .jsonl)
                == #"{"depth":0,"id":5,"parent":null,"title":"a"}"# + "\n"
                + #"{"depth":1,"id":6,"parent":5,"title":"b","done":true}"# + "\n"
        )
        #expect(try writtenText(rows, .csv) == "id,parent,level,title,note,done,extra\n5,,0,a,,,\n6,5,1,b,,yes,\n")
        #expect(try brief(try writtenText(rows, .csv), .csv) == ["0|a", "1|b|x"])
    }

    /// Random parents in random order give the same tree as a slow search for children.
    @Test func parentsMayBeInAnyOrder() throws {
        for seed in 0..<300 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let count = 1 + random.below(20)
            var parents: [Int: Int] = [:]
            for id in 1..<count where !random.oneIn(3) { parents[id] = random.below(id) }
            let order = (0..<count).shuffled(using: &random)
            let text = order.map { id in
                "{\"id\":\(id),\"title\":\"\(id)\",\"parent\":\(parents[id].map { "\($0)" } ?? "null")}"
            }.joined(separator: "\n")
            func below(_ parent: Int?, depth: Int) -> [String] {
                order.filter { parents[$0] == parent }.flatMap { ["\(depth)|\($0)"] + below($0, depth: depth + 1) }
            }
            #expect(try brief(text, .jsonl) == below(nil, depth: 0), "seed \(seed)")
        }
    }
}
