import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

/// The rules of a model apply to imported objects, streamed or not.
@Suite struct ImportRuleTests {
    private func run(_ isStreamed: Bool, _ titles: [(Int, String)]) throws {
        let store = try NamedStore(
            EntityDraft(
                "Step",
                [AttributeDraft("title") { _ in }, AttributeDraft("made", .date) { $0.defaultsToNow = true }],
                [
                    RelationshipDraft("above", .one, "Step", inverse: "below"),
                    RelationshipDraft("below", .ordered, "Step", inverse: "above", .cascade) { $0.maximumCount = 2 },
                ],
                unique: [["title"]]
            )
        ) {
            if isStreamed { $0.streamedFrom = 1 }
        }
        let top = try store.insert("Step", ["title": "top"])
        let before = try store.graph()
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
        for (depth, title) in titles { writer.append(SubtreeRow(depth: depth, id: nil, values: [.string(title)])) }
        var chunks = try SpooledChunks(directory: store.fixture.directory.path)
        try chunks.append(writer.take())
        let entity = store.entity("Step")
        let request = SubtreeImport(
            entity: entity.number,
            placement: Placement(relationship: store.property("above", entity), owner: .object(top), place: .last),
            properties: [store.property("title", entity)]
        )
        let staged = StagedSubtree(request: request, chunks: chunks, rowCount: titles.count, checksum: 0)
        defer { #expect((try? store.graph() == before) ?? false) }
        try store.fixture.commit { _ = try $0.importSubtree(staged) }
        #expect(try store.graph().faults.isEmpty)
        let after = try store.graph()
        for expected in [before, after, before] {
            try store.fixture.revert(store.head)
            #expect(try store.graph() == expected)
        }
    }

    @Test(arguments: [false, true]) func importsAreValidated(_ isStreamed: Bool) throws {
        try self.run(isStreamed, [(0, "a"), (1, "b"), (1, "c"), (2, "d"), (0, "e")])
        expectRefusal(.notUnique) { try self.run(isStreamed, [(0, "a"), (1, "b"), (2, "top")]) }
        expectRefusal(.notUnique) { try self.run(isStreamed, [(0, "a"), (1, "b"), (2, "a")]) }
        expectRefusal(.validationFailed) { try self.run(isStreamed, [(0, "a"), (1, "b"), (1, "c"), (1, "d")]) }
        expectRefusal(.validationFailed) { try self.run(isStreamed, [(0, "a"), (0, "b"), (0, "c")]) }
    }
}
