import NestModel

/// A naive implementation of the nested list: the expected contents of the store.
public struct ListWorld: Sendable {
    public struct Item: Hashable, Sendable {
        public var title: String
        public var note: String?
        public var isDone: Bool
        public var parent: ObjectID

        public init(title: String, note: String? = nil, isDone: Bool, parent: ObjectID) {
            self.title = title
            self.note = note
            self.isDone = isDone
            self.parent = parent
        }
    }

    /// The objects that a transaction changes.
    public struct Effects: Hashable, Sendable {
        public var inserted: Set<ObjectID> = []
        public var updated: Set<ObjectID> = []
        public var deleted: Set<ObjectID> = []
        /// Objects moved to their old position. The server may report this as a change or not.
        public var unmoved: Set<ObjectID> = []
    }

    /// The error for a mutation that the store cannot have executed.
    public struct Impossible: Error, Hashable, CustomStringConvertible {
        public let description: String
    }

    public private(set) var items: [ObjectID: Item] = [:]
    public private(set) var children: [ObjectID: [ObjectID]] = [:]

    public init() {}

    /// Creates a list with these items. The children of an object are in the order of `items`.
    public init(_ items: [(id: ObjectID, item: Item)]) {
        for (id, item) in items {
            self.items[id] = item
            self.children[item.parent, default: []].append(id)
        }
    }

    public func title(of id: ObjectID) -> String { self.items[id]?.title ?? "" }

    /// Applies a transaction whose inserts got these ids.
    public mutating func apply(_ mutations: [Mutation], inserted ids: [ObjectID]) throws(Impossible) -> Effects {
        let before = self.items
        var moved: Set<ObjectID> = []
        var effects = Effects()
        var nextID = ids.makeIterator()
        for mutation in mutations {
            switch mutation {
            case .insert(_, let values, let placements):
                guard let id = nextID.next(), self.items[id] == nil, let place = placements.first else {
                    throw Impossible(description: "an insert has no new id")
                }
                self.items[id] = Item(title: "", isDone: false, parent: ListModel.root)
                self.assign(values, to: id)
                _ = try self.place(id, place)
                effects.inserted.insert(id)
            case .update(let object, let values):
                self.assign(values, to: try self.existing(object))
            case .move(let object, let placement):
                let id = try self.existing(object)
                moved.insert(id)
                if try self.place(id, placement) { effects.updated.insert(id) }
            case .delete(let object):
                let id = try self.existing(object)
                self.detach(id)
                for gone in self.below(id) {
                    self.items[gone] = nil
                    self.children[gone] = nil
                    effects.deleted.insert(gone)
                }
            case .relate, .unrelate, .setRelated, .findOrCreate, .insertAs:
                throw Impossible(description: "a mutation that these runs do not use")
            }
        }
        guard nextID.next() == nil else { throw Impossible(description: "more objects were inserted than requested") }
        for (id, item) in before where self.items[id].map({ $0 != item }) ?? false { effects.updated.insert(id) }
        effects.unmoved = moved.subtracting(effects.updated)
        return effects
    }

    // MARK: Undo and redo

    mutating func set(_ item: Item, _ id: ObjectID) { self.items[id] = item }

    mutating func remove(_ id: ObjectID) {
        self.detach(id)
        self.items[id] = nil
        self.children[id] = nil
    }

    /// Moves an existing object under an owner, to an index among the other children.
    mutating func put(_ id: ObjectID, under owner: ObjectID, at index: Int) {
        self.detach(id)
        self.items[id]?.parent = owner
        let count = self.children[owner, default: []].count
        self.children[owner, default: []].insert(id, at: min(index, count))
    }

    /// The number of objects above an object.
    func depth(of id: ObjectID) -> Int {
        var depth = 0
        var next = self.items[id]?.parent
        while let parent = next {
            depth += 1
            next = self.items[parent]?.parent
        }
        return depth
    }

    private func existing(_ reference: ObjectReference) throws(Impossible) -> ObjectID {
        let id = ObjectID(reference.rawValue)
        guard self.items[id] != nil else { throw Impossible(description: "object \(id) does not exist") }
        return id
    }

    private mutating func assign(_ values: [PropertyAssignment], to id: ObjectID) {
        for value in values {
            switch (value.property, value.value) {
            case (ListModel.title, .value(.string(let title))): self.items[id]?.title = title
            case (ListModel.note, .value(.string(let note))): self.items[id]?.note = note
            case (ListModel.done, .value(.boolean(let isDone))): self.items[id]?.isDone = isDone
            default: break
            }
        }
    }

    private mutating func detach(_ id: ObjectID) {
        guard let parent = self.items[id]?.parent else { return }
        self.children[parent]?.removeAll { $0 == id }
    }

    private func below(_ id: ObjectID) -> [ObjectID] {
        var all = [id]
        var next = 0
        while next < all.count {
            all += self.children[all[next]] ?? []
            next += 1
        }
        return all
    }

    /// Places an object and returns whether its position changed.
    private mutating func place(_ id: ObjectID, _ placement: Placement) throws(Impossible) -> Bool {
        let owner = ObjectID(placement.owner.rawValue)
        guard owner == ListModel.root || self.items[owner] != nil else {
            throw Impossible(description: "owner \(owner) does not exist")
        }
        let (parent, order) = (self.items[id]?.parent, self.children[owner] ?? [])
        self.detach(id)
        var siblings = self.children[owner] ?? []
        switch placement.place {
        case .first: siblings.insert(id, at: 0)
        case .last: siblings.append(id)
        case .at(let index):
            guard 0...siblings.count ~= index else { throw Impossible(description: "index \(index) is out of range") }
            siblings.insert(id, at: index)
        case .near(let left, let right):
            let indexes = [left, right].map { $0.flatMap { siblings.firstIndex(of: ObjectID($0.rawValue)) } }
            siblings.insert(id, at: indexes[0].map { $0 + 1 } ?? indexes[1] ?? siblings.count)
        case .before(let other), .after(let other):
            guard let index = siblings.firstIndex(of: ObjectID(other.rawValue)) else {
                throw Impossible(description: "object \(other.rawValue) is not among the children of \(owner)")
            }
            if case .before = placement.place {
                siblings.insert(id, at: index)
            } else {
                siblings.insert(id, at: index + 1)
            }
        }
        self.children[owner] = siblings
        self.items[id]?.parent = owner
        return parent != owner || order != siblings
    }
}
