import NestModel
import NestTestSupport

/// Random transactions and their expected answers.
extension Simulation {
    /// Performs one or several mutations on the naive outline. Returns the transaction that performs the same in the
    /// engine, and the expected answer.
    func randomTransaction(_ session: Identifier128) -> (WriteTransaction, Expectation) {
        let before = (self.outline, self.lastWriter)
        var transaction = WriteTransaction(mutations: [])
        if self.random.oneIn(6) { transaction.name = "step \(self.step)" }
        let count = self.random.oneIn(4) ? self.random.below(10) + 1 : 1
        var inserted: [ObjectID] = []
        for _ in 0..<count {
            let (mutation, refusal) = self.randomMutation(&inserted, session)
            transaction.mutations.append(mutation)
            if let refusal {
                (self.outline, self.lastWriter) = before
                return (transaction, .refused(refusal))
            }
        }
        // A transaction that changes a value and changes it back has not written it.
        for (id, writers) in self.lastWriter {
            for (slot, writer) in writers where writer != before.1[id]?[slot] {
                guard let old = before.0.items[id], old.values[slot] == self.outline.items[id]?.values[slot] else {
                    continue
                }
                self.lastWriter[id]![slot] = before.1[id]?[slot]
            }
        }
        let isChanged = self.outline != before.0
        if isChanged { self.nextID += Int64(inserted.count) }
        return (transaction, .done(inserted: isChanged ? inserted : [], isChanged: isChanged))
    }

    private func randomMutation(_ inserted: inout [ObjectID], _ session: Identifier128) -> (Mutation, ErrorCode?) {
        func reference(_ id: ObjectID, _ inserted: [ObjectID]) -> ObjectReference {
            inserted.firstIndex(of: id).map { .inserted($0 + 1) } ?? .object(id)
        }
        switch self.random.below(10) {
        case 0..<4:
            let parent = self.anyItem()
            let (place, index) = self.randomPlace(parent, moving: nil, inserted)
            let title = "t\(self.random.below(50))"
            let id = ObjectID(self.nextID + Int64(inserted.count))
            let mutation = Mutation.insert(
                entity: EntityNumber(1),
                values: [PropertyAssignment(PropertyNumber(1), .value(.string(title)))],
                placements: [
                    Placement(relationship: PropertyNumber(5), owner: reference(parent, inserted), place: place)
                ]
            )
            guard let index else { return (mutation, .indexOutOfRange) }
            self.outline.insert(id, .init(title: .string(title)), under: parent, at: index)
            inserted.append(id)
            return (mutation, nil)
        case 4..<6:
            let id = self.anyItem()
            let title = AttributeValue.string("u\(self.random.below(6))")
            let done = AttributeValue.boolean(self.random.oneIn(2))
            self.note(id, 0, title, session)
            self.note(id, 2, done, session)
            self.outline.items[id]!.title = title
            self.outline.items[id]!.done = done
            return (
                .update(
                    reference(id, inserted),
                    values: [
                        PropertyAssignment(PropertyNumber(1), .value(title)),
                        PropertyAssignment(PropertyNumber(3), .value(done)),
                    ]
                ), nil
            )
        case 6..<9:
            let id = self.anyItem()
            let parent = self.anyItem()
            let (place, index) = self.randomPlace(parent, moving: id, inserted)
            let mutation = Mutation.move(
                reference(id, inserted),
                Placement(relationship: PropertyNumber(5), owner: reference(parent, inserted), place: place)
            )
            if id == ObjectID(1) { return (mutation, .rootObject) }
            if self.outline.isInside(parent, id) { return (mutation, .cycle) }
            guard let index else { return (mutation, .indexOutOfRange) }
            let item = self.outline.items[id]!
            self.outline.detach(id)
            self.outline.items[id] = item
            self.outline.insert(id, item, under: parent, at: index)
            return (mutation, nil)
        default:
            let id = self.anyItem()
            if id == ObjectID(1) { return (.delete(.object(id)), .rootObject) }
            // Deletes seldom while the outline is small, because a delete near the root removes most of it.
            if self.outline.items.count > 30 || self.random.oneIn(3) {
                self.outline.delete(id)
                return (.delete(reference(id, inserted)), nil)
            }
            let missing = ObjectID(1_000_000)
            return (.delete(.object(missing)), .notFound)
        }
    }

    private func note(_ id: ObjectID, _ slot: Int, _ value: AttributeValue, _ session: Identifier128) {
        self.written.insert(Written(session: session, id: id, slot: slot, value: value))
        if self.outline.items[id]!.values[slot] != value { self.lastWriter[id, default: [:]][slot] = session }
    }

    /// Returns a place among a parent's children, and its index without `moving`; `nil` if the index is out of range.
    private func randomPlace(_ parent: ObjectID, moving: ObjectID?, _ inserted: [ObjectID]) -> (Place, Int?) {
        func reference(_ id: ObjectID) -> ObjectReference {
            inserted.firstIndex(of: id).map { .inserted($0 + 1) } ?? .object(id)
        }
        let siblings = self.outline.items[parent]!.children.filter { $0 != moving }
        switch self.random.below(6) {
        case 0: return (.first, 0)
        case 1, 2: return (.last, siblings.count)
        case 3:
            let index = self.random.below(siblings.count + 2)
            return (.at(index), index <= siblings.count ? index : nil)
        default:
            guard let index = siblings.indices.randomElement(using: &self.random) else { return (.last, 0) }
            let sibling = reference(siblings[index])
            return self.random.oneIn(2) ? (.before(sibling), index) : (.after(sibling), index + 1)
        }
    }
}
