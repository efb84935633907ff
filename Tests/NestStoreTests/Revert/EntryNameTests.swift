import NestModel
import NestStore
import NestTestSupport
import Testing

/// The names of undo entries.
@Suite struct EntryNameTests {
    private let directory = TemporaryDirectory()

    /// A bulk deletion streams its objects to blocks of the journal; its name still has the label of the first object.
    @Test func largeDeletionsAreNamedAfterTheirObject() throws {
        var entity = EntityDraft(name: "Note")
        entity.attributes = [AttributeDraft(name: "title", type: .string)]
        var up = RelationshipDraft(name: "up", destination: "Note", inverse: "down")
        up.isOptional = true
        var down = RelationshipDraft(name: "down", destination: "Note", inverse: "up")
        down.isToMany = true
        down.deleteRule = .cascade
        entity.relationships = [up, down]
        var configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: try ModelDraft(entities: [entity]).compile()
        )
        configuration.streamedFrom = 4
        let store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        var names: [String] = []
        for transaction in [
            WriteTransaction(
                mutations: (0..<9).map { index in
                    let title = PropertyAssignment(PropertyNumber(1), .value(.string("n\(index)")))
                    let owner = PropertyAssignment(PropertyNumber(2), .reference(ObjectReference(rawValue: -1)))
                    return .insert(
                        entity: EntityNumber(1),
                        values: index == 0 ? [title] : [title, owner],
                        placements: []
                    )
                }
            ), WriteTransaction(mutations: [.delete(.object(ObjectID(1)))]),
        ] {
            try store.access {
                let group = try store.beginGroup(time: 1, alwaysSavepoint: true)
                _ = try group.request(inSavepoint: true) { graph in
                    _ = try graph.perform(transaction)
                    names.append(try graph.defaultName(of: transaction))
                    return WriteDescription(name: "test", key: nil, requestHash: 0, sessionNumber: 1)
                }
                try group.commit()
            }
        }
        #expect(names.last == "delete \"n0\" and 8 notes inside")
        try store.close()
    }
}
