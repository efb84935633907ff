import NestModel

/// A list that orders rows of a view. An outline has one for each object whose children it shows.
struct ListID: Hashable {
    let view: Int
    let owner: ObjectID
}

/// The lists that order rows of views, as far as they are known.
struct KnownLists {
    private var sketches: [ListID: ListSketch] = [:]
    /// The lists that mention an object.
    private var memberships: [ObjectID: Set<ListID>] = [:]

    subscript(list: ListID) -> ListSketch? { self.sketches[list] }

    mutating func add(_ list: ListID, _ sketch: ListSketch) {
        self.sketches[list] = sketch
        for id in sketch.entries { self.memberships[id, default: []].insert(list) }
    }

    /// Puts what is remembered where it was.
    mutating func add(_ id: ObjectID, to list: ListID, _ place: RememberedRow.Place) {
        self.sketches[list]?.insert(id, place)
        if self.sketches[list]?.mentions(id) == true { self.memberships[id, default: []].insert(list) }
    }

    /// Puts an object at a place of a list, or moves it there: see `ListSketch.place`.
    mutating func place(
        _ id: ObjectID,
        in list: ListID,
        _ place: SketchPlace,
        isMember: (ObjectID) -> Bool?
    ) -> Bool {
        // Taken out, so that it is not copied.
        guard var sketch = self.sketches.removeValue(forKey: list) else { return true }
        defer { self.sketches[list] = sketch }
        self.memberships[id, default: []].insert(list)
        return sketch.place(id, place, isMember: isMember)
    }

    /// The place of an object in a list is not known any more.
    mutating func doubt(_ id: ObjectID, in list: ListID) {
        self.memberships[id, default: []].insert(list)
        self.sketches[list]?.doubt(id)
    }

    /// A list has exactly these members, in this order.
    mutating func replace(_ list: ListID, with members: [ObjectID]) {
        self.sketches[list]?.replace(with: members)
        for id in members { self.memberships[id, default: []].insert(list) }
    }

    /// Removes an object from the lists for which `isMeant` is true. O(lists that mention it).
    mutating func remove(_ id: ObjectID, where isMeant: (ListID) -> Bool = { _ in true }) {
        for list in self.memberships[id] ?? [] where isMeant(list) {
            self.sketches[list]?.remove(id)
            self.memberships[id]?.remove(list)
        }
    }
}
