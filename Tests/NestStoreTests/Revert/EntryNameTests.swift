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
                    names.append(try graph.defaultName(of: transaction.mutations))
                    return WriteDescription(name: "test", key: nil, requestHash: 0, sessionNumber: 1)
                }
                try group.commit()
            }
        }
        #expect(names.last == "delete \"n0\" and 8 notes inside")
        try store.close()
    }

    // MARK: Several entities

    private struct Names {
        let store: Store
        let model: ManagedObjectModel

        func property(_ entity: String, _ name: String) -> PropertyNumber {
            self.model.entity(named: entity)!.propertyNumber(named: name)!
        }

        /// Performs transactions, and returns the names of their undo entries.
        func of(_ transactions: [[Mutation]]) throws -> [String] {
            try transactions.map { mutations in
                try self.store.access {
                    let transaction = WriteTransaction(mutations: mutations)
                    let group = try self.store.beginGroup(time: 1, alwaysSavepoint: true)
                    var name = ""
                    _ = try group.request(inSavepoint: true) { graph in
                        _ = try graph.perform(transaction)
                        name = try graph.defaultName(of: transaction.mutations)
                        return WriteDescription(name: name, key: nil, requestHash: 0, sessionNumber: 1)
                    }
                    try group.commit()
                    return name
                }
            }
        }

        func insert(_ entity: String, _ name: String, in folder: Int64? = nil) -> Mutation {
            var values = [PropertyAssignment(self.property(entity, "name"), .value(.string(name)))]
            if let folder {
                let owner = self.property(entity, entity == "Note" ? "folder" : "up")
                values.append(PropertyAssignment(owner, .reference(ObjectReference(rawValue: folder))))
            }
            return .insert(entity: self.model.entity(named: entity)!.number, values: values, placements: [])
        }

        func edit(_ entity: String, _ id: Int64, _ name: String) -> Mutation {
            let property = self.property(entity, "name")
            return .update(.object(ObjectID(id)), values: [PropertyAssignment(property, .value(.string(name)))])
        }
    }

    /// Notes in folders. The notes have the lower entity number.
    private func names(streamedFrom: Int? = nil) throws -> Names {
        var note = EntityDraft(name: "Note")
        note.attributes = [AttributeDraft(name: "name", type: .string)]
        var folder = RelationshipDraft(name: "folder", destination: "Folder", inverse: "notes")
        folder.isOptional = true
        note.relationships = [folder]
        var folders = EntityDraft(name: "Folder")
        folders.attributes = [AttributeDraft(name: "name", type: .string)]
        var notes = RelationshipDraft(name: "notes", destination: "Note", inverse: "folder")
        notes.isToMany = true
        notes.deleteRule = .cascade
        var up = RelationshipDraft(name: "up", destination: "Folder", inverse: "down")
        up.isOptional = true
        var down = RelationshipDraft(name: "down", destination: "Folder", inverse: "up")
        down.isToMany = true
        down.deleteRule = .cascade
        folders.relationships = [notes, up, down]
        let model = try ModelDraft(entities: [note, folders]).compile()
        var configuration = Store.Configuration(
            location: .file(self.directory.path + "/several.sqlite"),
            model: model
        )
        if let streamedFrom { configuration.streamedFrom = streamedFrom }
        return Names(store: try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1)), model: model)
    }

    /// The deleted object is not inside itself, whatever entity it has, and also if the deletion is a bulk change.
    @Test(arguments: [nil, 2])
    func aDeletedObjectOfAnotherEntityIsNotCounted(_ streamedFrom: Int?) throws {
        let names = try self.names(streamedFrom: streamedFrom)
        let notes = (0..<5).map { names.insert("Note", "n\($0)", in: 1) }
        let last = try names.of([
            [names.insert("Folder", "f")], notes, [.delete(.object(ObjectID(1)))],
            [names.insert("Folder", "g")], [names.insert("Note", "n", in: 7)], [.delete(.object(ObjectID(7)))],
        ])
        #expect(last[2] == "delete \"f\" and 5 notes inside")
        #expect(last[5] == "delete \"g\" and 1 note inside")
    }

    /// Several steps: the noun is that of all objects, and each object counts once.
    @Test func objectsOfSeveralEntitiesAreCounted() throws {
        let names = try self.names()
        let all = try names.of([
            [names.insert("Folder", "f"), names.insert("Note", "a", in: -1)],
            [names.insert("Note", "b"), names.insert("Note", "c")],
            [names.edit("Folder", 1, "g"), names.insert("Note", "d")],
            [names.edit("Note", 2, "e"), names.edit("Note", 3, "h")],
            [names.edit("Note", 2, "i"), names.edit("Note", 2, "j")],
            [
                names.insert("Folder", "k"),
                .setRelated(
                    .inserted(1),
                    names.property("Folder", "notes"),
                    [.object(ObjectID(2)), .object(ObjectID(3))]
                ),
            ],
            [names.insert("Note", "l"), .delete(.inserted(1))],
        ])
        #expect(
            all == [
                "add 2 objects", "add 2 notes", "change 2 objects", "edit 2 notes", "edit \"j\"", "add folder \"k\"",
                "change note 7",
            ]
        )
    }

    /// A long label is cut once: what follows a character that does not fit is left out too.
    @Test func aLabelIsCutOnceAndNotInItsMiddle() {
        let family = "👨‍👩‍👧‍👦"
        for text in ["a", "ab", String(repeating: "a", count: 60)] {
            for families in 0..<6 {
                let label = String(repeating: family, count: families) + text + family + "end of the label"
                let short = ObjectGraph.shortened(label)
                guard short != label else { continue }
                #expect(short.hasSuffix("…") && label.hasPrefix(short.dropLast()), "\(short)")
                #expect(short.count <= 41 && short.utf8.count <= 83)
            }
        }
    }
}
