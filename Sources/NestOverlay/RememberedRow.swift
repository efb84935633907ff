import NestModel

/// What was last known of an object that an own write, which the server has confirmed, took out of a view, while a
/// later pending write still changes the object: it may put it back. Without it such a row would vanish when the first
/// of the two is confirmed, and return with the second.
///
/// The values are those of the last state that had the row, with the confirmed writes. Others may have changed them
/// since, or deleted the object: so it is undecided wherever it is shown.
///
/// It begins when the row goes because of an own write. It ends when the view has the row again, when no pending write
/// changes the object any more, or when a confirmed write should have brought it back and has not. An object that
/// others take out of a view is not remembered.
struct RememberedRow: Sendable {
    /// A place in the order of the rows, by those that were beside it.
    struct Place: Sendable {
        let left: ObjectID?
        let right: ObjectID?
        /// The owner of the list; `nil` for another order.
        let owner: ObjectID?
        /// The key of the section, unless the order is that of a list.
        let section: AttributeValue?
    }

    /// What an outline had below the object.
    struct Node: Sendable {
        /// The object whose child it is for the server; `nil` if the predicate does not admit it.
        let owner: ObjectID?
        let childCount: Int
        let isExpanded: Bool
        let children: [ObjectID]
    }

    /// The object that the pending write changes: itself, or one above it in an outline.
    let root: ObjectID
    let entity: EntityDescription
    /// The stored properties that were known.
    let values: [PropertyNumber: AttributeValue]
    let columns: [AttributeValue?]
    /// For each operand of the predicate's outermost AND whether it was true.
    let truths: [Bool]
    /// Whether it was in the relationship of the view's source.
    let isMember: Bool?
    /// `nil`: not known.
    let place: Place?
    /// In an outline.
    let node: Node?
}

extension Overlay {
    /// Returns what is remembered of each view, by object, when its state is another one. `old`: the views before,
    /// which show the same revision; `new`: the same views now. `confirmed`: the writes that the server has done
    /// between the two, in its order; `pending`: those that are laid over the new states.
    static func remembered(
        from old: [OverlayView],
        to new: [OverlayView],
        confirmed: [UnconfirmedTransaction],
        pending: [UnconfirmedTransaction],
        in model: ManagedObjectModel
    ) -> [[ObjectID: RememberedRow]] {
        let nothing = new.map { _ in [ObjectID: RememberedRow]() }
        guard !confirmed.isEmpty || old.contains(where: { !$0.remembered.isEmpty }) else { return nothing }
        let changed = Set(pending.flatMap { $0.mutations.flatMap(\.changedObjects) })
        guard !changed.isEmpty else { return nothing }
        let rows = new.map(\.isFolded)
        if confirmed.isEmpty {
            return zip(old, rows).map { view, rows in
                view.remembered.filter { id, row in
                    changed.contains(row.root) && rows[row.root] ?? true && (id == row.root || rows[id] == nil)
                }
            }
        }
        var known = KnownObjects(ShownRows(old, model))
        let made = Set(confirmed.flatMap { $0.mutations.compactMap(\.reservedID) })
        guard
            changed.contains(where: { id in
                (made.contains(id) || known.shown.contains(id) || known.shown.remembered(id) != nil)
                    && rows.contains { $0[id] ?? true }
            })
        else { return nothing }
        for transaction in confirmed { _ = known.run(transaction) }
        let paths = KnownPaths(known: known)
        return new.indices.map { view in
            guard let shape = known.shown.shapes[view] else { return [:] }
            let missing = changed.filter { rows[view][$0] ?? true }
            if shape.request.outline == nil {
                var laid = LaidView(view, shape, paths)
                return laid.remembered(missing)
            }
            var laid = LaidOutline(view, shape, paths)
            return laid.remembered(missing, isHidden: { rows[view][$0] == nil })
        }
    }
}

extension KnownObjects {
    /// Returns what to remember of an object as the transactions leave it; `nil` if it is gone, or not of a kind that
    /// the view shows.
    func remembered(
        _ id: ObjectID,
        root: ObjectID,
        in view: Int,
        _ paths: KnownPaths,
        place: RememberedRow.Place?,
        node: RememberedRow.Node?
    ) -> RememberedRow? {
        guard let shape = self.shown.shapes[view], !self.isGone(id), let entity = self.entity(of: id),
            self.model.isKind(entity.number, of: shape.entity.number)
        else { return nil }
        let before = self.shown.views[view].remembered[id]
        let row = self.shown.row(id, in: view)
        var values: [PropertyNumber: AttributeValue] = [:]
        for property in entity.storedProperties { values[property] = self.value(property, of: id) }
        let columns = shape.request.columns.enumerated().map { column, path in
            paths.value(path, of: id) ?? shape.slots[.computed(column)].flatMap { row?.values[$0] }
                ?? before?.columns[column]
        }
        return RememberedRow(
            root: root,
            entity: entity,
            values: values,
            columns: columns,
            truths: shape.predicate.truths(of: id, paths, wasTrue: row != nil, before?.truths ?? []),
            isMember: shape.request.source.flatMap { source in
                shape.relationship.flatMap { self.isMember(id, of: source, $0) } ?? before?.isMember
            },
            place: place,
            node: node
        )
    }

    /// Returns the place of an object in the list of an owner.
    func place(of id: ObjectID, in list: ListID) -> RememberedRow.Place? {
        guard let sketch = self.lists[list], !sketch.uncertain.contains(id),
            let index = sketch.entries.firstIndex(of: id)
        else { return nil }
        return RememberedRow.Place(
            left: index > 0 ? sketch.entries[index - 1] : nil,
            right: index + 1 < sketch.entries.count ? sketch.entries[index + 1] : nil,
            owner: list.owner,
            section: nil
        )
    }
}

extension Mutation {
    /// The id that the step gives to a new object.
    fileprivate var reservedID: ObjectID? { if case .insertAs(let id, _, _, _) = self { id } else { nil } }

    /// The objects that the step may make rows of views, or change as such.
    fileprivate var changedObjects: [ObjectID] {
        let references: [ObjectReference] =
            switch self {
            case .insert, .insertAs, .findOrCreate, .delete: []
            case .update(let object, _), .move(let object, _): [object]
            case .relate(let owner, _, let object, _), .unrelate(let owner, _, let object): [owner, object]
            case .setRelated(let owner, _, let objects): [owner] + objects
            }
        return references.filter { $0.rawValue > 0 }.map { ObjectID($0.rawValue) }
    }
}
