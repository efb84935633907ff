import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

extension UndoSimulation {
    // MARK: Groups

    func beginOrEndGroup() throws {
        let user = self.anyUser()
        let client = self.anyClient(of: user)
        let connection = client.connection.rawValue
        let stacks = self.oracle.stacks[user.id]!
        let isInside = stacks.groupOf[connection] != nil
        self.story.append("session \(user.number), \(client.connection): a group begins or ends")
        if isInside ? self.random.below(4) > 0 : self.random.oneIn(8) {
            let reply = try self.ask(client, .endGroup)
            if isInside {
                guard case .done = reply else { throw self.fail("the end of a group is answered with \(reply)") }
            } else {
                try self.expect(reply.error?.code == .notFound, "the end of a missing group is answered with \(reply)")
            }
            self.oracle.stacks[user.id]!.leave(connection)
        } else {
            let name = self.random.oneIn(2) ? "group of step \(self.step)" : nil
            let isWrong = self.random.oneIn(10)
            let other = self.random.oneIn(2) ? stacks.groups.randomElement(using: &self.random)?.number : nil
            let joined = isWrong ? 9_999 : other
            let reply = try self.ask(client, .beginGroup(name: name, joined: joined))
            if isInside {
                try self.expect(reply.error?.code == .invalid, "a group inside a group is answered with \(reply)")
            } else if isWrong {
                try self.expect(reply.error?.code == .notFound, "joining a missing group is answered with \(reply)")
            } else {
                guard case .group(let number) = reply else { throw self.fail("a group is answered with \(reply)") }
                if let joined {
                    try self.expect(number == joined, "the group is \(number), not \(joined)")
                    self.oracle.stacks[user.id]!.join(number, connection: connection)
                } else {
                    try self.expect(!stacks.groups.contains { $0.number == number }, "the group \(number) exists")
                    self.oracle.stacks[user.id]!.begin(number, name: name, connection: connection, time: self.now)
                }
            }
        }
        try self.checkUndoStates()
    }

    // MARK: The beginning

    /// Inserts a tree and objects of the other entities, if the model has a tree.
    func insertTree() throws {
        let names = ["Node", "Item"]
        guard let entity = self.model.entities.first(where: { names.contains($0.name) }) else { return }
        let parent = entity.propertyNumber(named: "parent")!
        var mutations = (0..<9).map { number -> Mutation in
            let above = number < 2 ? nil : self.random.below(min(number, 5)) + 1
            let title = PropertyAssignment(entity.propertyNumber(named: "title")!, .value(.string("n\(number)")))
            let placements = above.map { [Placement(relationship: parent, owner: .inserted($0), place: .last)] } ?? []
            return .insert(entity: entity.number, values: [title], placements: placements)
        }
        for other in self.model.entities where other.number != entity.number && other.name != "Guest" {
            mutations += (0..<2).map { _ in .insert(entity: other.number, values: [], placements: []) }
        }
        let user = self.users[0]
        try self.perform([(user, user.clients[0], .transaction(WriteTransaction(mutations: mutations)))])
    }

    // MARK: Imports

    /// Imports a random subtree as one entry.
    func importSomething() throws {
        let owners = self.oracle.graph.objects.keys.sorted().flatMap { id in
            self.oracle.graph.entity(of: id).relationships.compactMap { list -> (ObjectID, RelationshipDescription)? in
                let toOne = self.oracle.graph.inverse(list)
                let kind = self.oracle.graph.entity(list.destination)
                // Objects of an entity with a root relationship can be imported only through that relationship.
                let isWayIn = kind.root.map { $0.relationship == toOne.number } ?? true
                let isTree = list.isOrdered && !toOne.isToMany && !kind.isAbstract
                return isTree && isWayIn && self.oracle.graph.isKind(list.destination, of: toOne.destination)
                    ? (id, toOne) : nil
            }
        }
        guard let (owner, toOne) = owners.randomElement(using: &self.random) else { return }
        let list = self.oracle.graph.inverse(toOne)
        let entity = self.oracle.graph.entity(list.destination)
        let text = entity.attributes.first { $0.type == .string && $0.minimum.isNull && $0.maximum.isNull }
        let place: Place = self.random.oneIn(2) ? .first : .last
        var depths = [0]
        while depths.count < 1 + self.random.below(9) { depths.append(self.random.below(min(depths.last! + 2, 4))) }
        var writer = SubtreeChunkWriter(valueCount: text == nil ? 0 : 1, hasIDs: false)
        var mutations: [Mutation] = []
        var path: [Int] = []
        for (number, depth) in depths.enumerated() {
            let title = AttributeValue.string("i\(number)")
            writer.append(SubtreeRow(depth: depth, id: nil, values: text == nil ? [] : [title]))
            let isFirst = depth > 0 || path.isEmpty
            let above = depth == 0 ? ObjectReference.object(owner) : .inserted(path[depth - 1])
            let at: Place = isFirst ? (depth == 0 ? place : .last) : .after(.inserted(path[0]))
            path.removeSubrange(min(depth, path.count)...)
            path.append(number + 1)
            mutations.append(
                .insert(
                    entity: entity.number,
                    values: text.map { [PropertyAssignment($0.number, .value(title))] } ?? [],
                    placements: [Placement(relationship: toOne.number, owner: above, place: at)]
                )
            )
        }
        var chunks = try SpooledChunks(directory: self.directoryPath)
        try chunks.append(writer.take())
        let request = SubtreeImport(
            name: "import of step \(self.step)",
            entity: entity.number,
            placement: Placement(relationship: toOne.number, owner: .object(owner), place: place),
            properties: text.map { [$0.number] } ?? []
        )
        let staged = StagedSubtree(request: request, chunks: chunks, rowCount: depths.count, checksum: 0)
        try self.importAll(staged, WriteTransaction(name: request.name, mutations: mutations))
    }

    /// Checks that an import does the same as a transaction of inserts.
    private func importAll(_ staged: StagedSubtree, _ transaction: WriteTransaction) throws {
        let user = self.anyUser()
        let client = self.anyClient(of: user)
        let base = self.oracle.head
        self.story.append("session \(user.number): import of \(staged.rowCount)")
        let (id, input) = client.request(.importSubtree(staged))
        try self.perform([input])
        guard let reply = client.replies[id] else { throw self.fail("no answer to an import") }
        let sent = Sent(user: user, client: client, id: id, request: .importSubtree(staged))
        if case .failure(let error) = reply {
            // Other tests check which of several faults is reported.
            guard case .failure = NaiveTransaction.run(transaction, on: self.oracle.graph, time: self.now) else {
                throw self.fail("an import is refused: \(error)")
            }
        } else {
            try self.take(reply, sent, transaction, isAlone: true)
        }
        try self.look(since: base, isOrdered: true)
    }

    // MARK: Previews

    /// Requests a preview and checks that it changes nothing.
    func preview(_ target: UndoTarget, _ options: UndoOptions, _ client: SimulatedClient) throws -> EngineReply {
        self.counts.previews += 1
        let reply = try self.ask(client, .previewUndo(target, options))
        switch reply {
        case .answer, .failure: break
        default: throw self.fail("a preview is answered with \(reply)")
        }
        try self.checkStored()
        try self.checkUndoStates()
        return reply
    }

    /// Checks that the preview describes the undo that followed.
    func compare(_ preview: EngineReply, _ answer: EngineReply, _ head: Revision, _ before: NaiveGraph) throws {
        if case .failure(let error) = answer {
            try self.expect(preview.error?.code == error.code, "the preview is \(preview), but the answer is \(answer)")
            return
        }
        guard let preview = preview.preview, let receipt = answer.receipt else {
            throw self.fail("the preview is \(preview), but the answer is \(answer)")
        }
        try self.expect(preview.name == receipt.name, "the preview names \(preview.name), not \(receipt.name)")
        try self.expect(
            preview.conflicts == receipt.conflicts,
            "the preview lists \(preview.conflicts.listed.map(\.brief)), \(preview.conflicts.count) in all"
        )
        // Two transactions that cancel each other out change nothing but are two revisions.
        let isNothing = before == self.oracle.graph && receipt.revision > head.next
        try self.expect(isNothing || preview.isNothing == !receipt.isChanged, "the preview is \(preview)")
        try self.compare(preview, from: before, to: self.oracle.graph)
    }

    private func compare(_ preview: UndoPreview, from before: NaiveGraph, to after: NaiveGraph) throws {
        func ids(_ kind: ChangedObject.Kind) -> [ObjectID] {
            preview.changes.filter { $0.object.kind == kind }.map(\.object.id).sorted()
        }
        let inserted = after.objects.keys.filter { !before.lives($0) }.sorted()
        let deleted = before.objects.keys.filter { !after.lives($0) }.sorted()
        try self.expect(ids(.inserted) == inserted, "the preview inserts \(ids(.inserted)), not \(inserted)")
        try self.expect(ids(.deleted) == deleted, "the preview deletes \(ids(.deleted)), not \(deleted)")
        let counts = [preview.insertedCount, preview.updatedCount, preview.deletedCount]
        let listed = [inserted.count, ids(.updated).count, deleted.count]
        try self.expect(counts == listed, "the preview counts \(counts), not \(listed)")
        let values = Dictionary(uniqueKeysWithValues: preview.changes.map { ($0.object.id, $0.values) })
        for (id, object) in after.objects {
            guard let old = before.objects[id] else { continue }
            let entity = after.entity(object.entity)
            let changed = entity.storedProperties.filter { before.value(id, $0) != after.value(id, $0) }
            let shown = values[id] ?? []
            for property in changed {
                let value = UndoPreview.Value(
                    property: property,
                    before: before.value(id, property),
                    after: after.value(id, property)
                )
                try self.expect(shown.contains(value), "the preview lists \(shown) for \(id), not \(value)")
            }
            for value in shown where !changed.contains(value.property) {
                // A change of position only.
                let isPlace =
                    value.before == value.after && value.before == after.value(id, value.property)
                    && entity.relationship(value.property) != nil
                try self.expect(isPlace, "the preview lists \(value) for \(id)")
            }
            let isPaired = entity.relationships.contains { relationship in
                after.isPaired(relationship)
                    && Set(old.related[relationship.number]!) != Set(object.related[relationship.number]!)
            }
            if isPaired { try self.expect(values[id] != nil, "the preview does not list \(id)") }
        }
    }

    // MARK: History

    func checkHistory() throws {
        for user in self.users {
            let reply = try self.ask(user.clients[0], .history(before: Revision(0), limit: 1_000, onlyMine: false))
            guard let entries = reply.entries else { throw self.fail("no history: \(reply)") }
            try self.expect(
                entries.map(\.revision) == self.oracle.records.suffix(1_000).map(\.revision).reversed(),
                "history has \(entries.map(\.revision))"
            )
            let stacks = self.oracle.stacks[user.id]!
            let blocked = self.oracle.stacks.values.flatMap(\.blocked).flatMap(\.revisions)
            for entry in entries {
                let record = self.oracle.record(entry.revision)!
                let isNextUndo = stacks.undo.last?.revisions.last == entry.revision
                let isNextRedo = stacks.redo.last?.revisions.last == entry.revision
                let mayUndo = stacks.undo.last?.revisions.contains(entry.revision) ?? false
                let mayRedo = stacks.redo.last?.revisions.contains(entry.revision) ?? false
                let isRight =
                    entry.kind == record.kind && entry.sessionNumber == record.session
                    && entry.isMine == (record.session == user.number) && entry.name == record.name
                    && (isNextUndo ? entry.isNextUndo : !entry.isNextUndo || mayUndo)
                    && (isNextRedo ? entry.isNextRedo : !entry.isNextRedo || mayRedo)
                    && (entry.reverted == nil) == (entry.kind == .write)
                    && entry.entry == self.firsts[entry.revision]
                    && (!entry.isBlocked || blocked.contains(entry.revision))
                try self.expect(
                    isRight,
                    "history has \(entry), not \(record.kind), session \(record.session), first \(String(describing: self.firsts[entry.revision])), stacks \(stacks)"
                )
            }
            for entry in stacks.blocked {
                let shown = entries.first { $0.revision == entry.revisions.last }
                try self.expect(shown?.isBlocked ?? true, "\(entry) is not shown as blocked")
            }
        }
    }
}
