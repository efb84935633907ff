import NestModel

/// What is known of the order of one list: the members that a view shows, in their order, and those that pending
/// transactions have put among them. Each step is O(n) for n entries.
struct ListSketch {
    /// The answer to a step that needs to know where an object is.
    private enum Found {
        case at(Int)
        /// Beyond an end of the window.
        case outside(isBefore: Bool)
        case unknown
        case absent
    }

    /// The members whose order is known among each other. Some are not shown, because the predicate does not admit
    /// them.
    private(set) var entries: [ObjectID]
    /// Whether the first entry comes before all other members that the view could show, and the last one after them.
    let startsAtFirst: Bool
    let endsAtLast: Bool
    /// Whether the entries are all members.
    private(set) var isComplete: Bool
    /// Members whose place is not known. Those that were shown stay among the entries.
    private(set) var uncertain: Set<ObjectID> = []
    /// Members that were put beyond the ends of the window: before it and after it.
    private(set) var before: Set<ObjectID> = []
    private(set) var after: Set<ObjectID> = []

    init(entries: [ObjectID], startsAtFirst: Bool, endsAtLast: Bool, isComplete: Bool) {
        self.entries = entries
        self.startsAtFirst = startsAtFirst
        self.endsAtLast = endsAtLast
        self.isComplete = isComplete
    }

    /// Puts an object beside those that it was beside. Does nothing if they are not known, or all members are.
    mutating func insert(_ object: ObjectID, _ place: RememberedRow.Place) {
        guard !self.isComplete, !self.mentions(object) else { return }
        if let index = place.left.flatMap({ self.entries.firstIndex(of: $0) }) {
            self.entries.insert(object, at: index + 1)
        } else if let index = place.right.flatMap({ self.entries.firstIndex(of: $0) }) {
            self.entries.insert(object, at: index)
        } else if self.entries.isEmpty, self.startsAtFirst, self.endsAtLast {
            self.entries.append(object)
        }
    }

    /// Removes an object from the list.
    mutating func remove(_ object: ObjectID) {
        self.entries.removeAll { $0 == object }
        self.uncertain.remove(object)
        self.before.remove(object)
        self.after.remove(object)
    }

    /// The list has exactly these members, in this order.
    mutating func replace(with members: [ObjectID]) {
        self = ListSketch(entries: members, startsAtFirst: true, endsAtLast: true, isComplete: true)
    }

    /// Whether it knows the object.
    func mentions(_ object: ObjectID) -> Bool {
        self.entries.contains(object) || self.uncertain.contains(object) || self.before.contains(object)
            || self.after.contains(object)
    }

    /// The object's place is not known any more.
    mutating func doubt(_ object: ObjectID) { self.uncertain.insert(object) }

    /// Puts an object at a place, or moves it there. `isMember` says whether an object is in the list, `nil` if that is
    /// not known. Returns `false` if the server must refuse the place.
    mutating func place(_ object: ObjectID, _ place: SketchPlace, isMember: (ObjectID) -> Bool?) -> Bool {
        let old = self.entries.firstIndex(of: object)
        self.remove(object)
        switch place {
        case .first: self.startsAtFirst ? self.entries.insert(object, at: 0) : self.putOutside(object, isBefore: true)
        case .last: self.endsAtLast ? self.entries.append(object) : self.putOutside(object, isBefore: false)
        case .beside(let sibling, let isAfter):
            guard let sibling, sibling != object else { return sibling == nil ? self.guess(object, old) : false }
            switch self.find(sibling, isMember) {
            case .at(let index): self.entries.insert(object, at: index + (isAfter ? 1 : 0))
            case .outside(let isBefore): self.putOutside(object, isBefore: isBefore)
            case .unknown: return self.guess(object, old)
            case .absent: return false
            }
        case .at(let index):
            guard self.isComplete, self.uncertain.isEmpty else { return self.guess(object, old) }
            guard index <= self.entries.count else { return false }
            self.entries.insert(object, at: index)
        case .near(let left, let right):
            for (sibling, isAfter) in [(left, true), (right, false)] {
                switch sibling {
                case .none: continue
                case .unknown: return self.guess(object, old)
                case .object(let sibling):
                    if sibling == object { continue }
                    switch self.find(sibling, isMember) {
                    case .at(let index):
                        self.entries.insert(object, at: index + (isAfter ? 1 : 0))
                        return true
                    case .outside(let isBefore):
                        self.putOutside(object, isBefore: isBefore)
                        return true
                    case .unknown: return self.guess(object, old)
                    case .absent: continue
                    }
                }
            }
            return self.place(object, .last, isMember: isMember)
        }
        return true
    }

    private func find(_ object: ObjectID, _ isMember: (ObjectID) -> Bool?) -> Found {
        if self.uncertain.contains(object) { return .unknown }
        if let index = self.entries.firstIndex(of: object) { return .at(index) }
        if self.before.contains(object) { return .outside(isBefore: true) }
        if self.after.contains(object) { return .outside(isBefore: false) }
        if self.isComplete { return .absent }
        return isMember(object) == false ? .absent : .unknown
    }

    private mutating func putOutside(_ object: ObjectID, isBefore: Bool) {
        if isBefore { self.before.insert(object) } else { self.after.insert(object) }
    }

    /// Leaves an object whose place is not known where it was.
    private mutating func guess(_ object: ObjectID, _ old: Int?) -> Bool {
        if let old { self.entries.insert(object, at: min(old, self.entries.count)) }
        self.uncertain.insert(object)
        return true
    }
}

/// A place with its references resolved.
enum SketchPlace {
    /// A reference to an object; `unknown`: to one without a known id.
    enum Sibling {
        case none
        case unknown
        case object(ObjectID)
    }

    case first
    case last
    /// `nil`: an object without a known id.
    case beside(ObjectID?, isAfter: Bool)
    case at(Int)
    case near(left: Sibling, right: Sibling)
}
