import NestModel

/// Random transactions on a naive graph: mostly valid, with every kind of fault. Each mutation is applied to a copy of
/// the graph, so that later mutations use the results of earlier ones.
package struct RandomTransaction {
    package var random: SeededRandom
    package private(set) var mutations: [Mutation] = []
    private var scratch: NaiveTransaction
    private var isOver = false
    /// One of this many values and objects is wrong.
    private static let wrongOneIn = 40

    /// Returns a random transaction. `size`: the approximate number of objects that the graph should have. `reserved`:
    /// ids that inserts may name.
    package static func make(
        on graph: NaiveGraph,
        size: Int = 30,
        time: Int64,
        reserved: Set<ObjectID> = [],
        _ random: inout SeededRandom
    ) -> [Mutation] {
        var maker = RandomTransaction(random: random, scratch: NaiveTransaction(graph, isBatch: true, time: time))
        maker.scratch.reserved = reserved
        maker.build(size)
        random = maker.random
        return maker.mutations
    }

    private var graph: NaiveGraph { self.scratch.graph }

    private mutating func build(_ size: Int) {
        if self.random.oneIn(8), self.addSwap() { return }
        if self.random.oneIn(6), self.addReordering() { return }
        let count = self.random.oneIn(2) ? 1 : 2 + self.random.below(5)
        for _ in 0..<count where !self.isOver { self.addStep(size) }
    }

    private mutating func add(_ mutation: Mutation) {
        guard !self.isOver else { return }
        self.mutations.append(mutation)
        do { try self.scratch.perform(mutation) } catch { self.isOver = true }
    }

    private mutating func addStep(_ size: Int) {
        let isFull = self.graph.objects.count > size
        switch self.random.below(20) {
        case 0..<7 where !isFull, 0..<2: self.addInsert()
        case 2..<5, 7..<9: self.addUpdate()
        case 9: self.addMove()
        case 5..<7, 10: self.addDelete()
        case 11..<14: self.addRelate()
        case 14: self.addUnrelate()
        case 15..<17: self.addSetRelated()
        default: self.addFindOrCreate()
        }
    }

    // MARK: Picking

    private mutating func isWrong() -> Bool { self.random.oneIn(Self.wrongOneIn) }

    private mutating func anyObject() -> ObjectID? {
        self.graph.objects.keys.sorted().randomElement(using: &self.random)
    }

    private mutating func object(of entity: EntityNumber) -> ObjectID? {
        if self.isWrong() { return self.random.oneIn(2) ? self.missingObject() : self.anyObject() }
        return self.graph.ids(of: entity).randomElement(using: &self.random)
    }

    /// Returns the id of no object. Before the first insert it may be one of the next ids, which a pair may have.
    private mutating func missingObject() -> ObjectID {
        guard self.mutations.isEmpty, self.random.oneIn(2), let last = self.graph.objects.keys.max() else {
            return ObjectID(9_999_999)
        }
        return ObjectID(last.rawValue + 1 + Int64(self.random.below(3)))
    }

    /// Returns a reference to the object as a request names it.
    private mutating func reference(_ id: ObjectID) -> ObjectReference {
        if self.random.oneIn(300) { return .inserted(self.scratch.results.count + 1 + self.random.below(2)) }
        let number = self.scratch.results.firstIndex { $0?.id == id }
        if let number, id.rawValue >= NaiveTransaction.firstNewID || self.random.oneIn(2) {
            return .inserted(number + 1)
        }
        return .object(id)
    }

    private mutating func concrete(_ entity: EntityNumber) -> EntityDescription? {
        if self.isWrong() { return self.graph.model.entities.randomElement(using: &self.random) }
        return self.graph.model.entities.filter { !$0.isAbstract && self.graph.isKind($0.number, of: entity) }
            .randomElement(using: &self.random)
    }

    private mutating func anyEntity() -> EntityNumber {
        self.graph.model.entities.randomElement(using: &self.random)!.number
    }

    private mutating func place(among owner: ObjectID, _ relationship: RelationshipDescription) -> Place {
        guard relationship.isOrdered else { return self.isWrong() ? .first : .last }
        let list = self.graph.related(owner, relationship.number)
        switch self.random.below(6) {
        case 0: return .first
        case 1: return .last
        case 2: return .at(self.random.below(list.count + (self.isWrong() ? 4 : 1)))
        default:
            let sibling = self.isWrong() ? self.anyObject() : list.randomElement(using: &self.random)
            guard let sibling else { return .last }
            let reference = self.reference(sibling)
            if self.random.oneIn(3) { return self.near(reference, list) }
            return self.random.oneIn(2) ? .before(reference) : .after(reference)
        }
    }

    // MARK: Values

    private mutating func assignment(_ attribute: AttributeDescription) -> PropertyAssignment {
        let value: AttributeValue
        if self.isWrong() {
            value = self.random.wrongValue(of: attribute)
        } else if self.random.oneIn(12) {
            value = self.random.triedValue(of: attribute.type)
        } else {
            value = self.random.soundValue(of: attribute)
        }
        return PropertyAssignment(attribute.number, .value(value))
    }

    private mutating func assignment(_ relationship: RelationshipDescription, _ target: ObjectID?) -> PropertyAssignment
    {
        guard let target else { return PropertyAssignment(relationship.number, .value(.null)) }
        let reference = self.reference(target)
        let isPlain = reference.rawValue > 0 && self.random.oneIn(2)
        return PropertyAssignment(relationship.number, isPlain ? .value(.reference(target)) : .reference(reference))
    }

    /// Returns a place between an object and another one, which may be anywhere.
    private mutating func near(_ reference: ObjectReference, _ list: [ObjectID]) -> Place {
        let other = self.random.oneIn(3) ? self.anyObject() : list.randomElement(using: &self.random)
        let neighbour = self.random.oneIn(4) ? nil : other.map { self.reference($0) }
        return self.random.oneIn(2)
            ? .near(left: reference, right: neighbour) : .near(left: neighbour, right: reference)
    }

    /// Returns values and placements for some properties of an entity, and for all required ones of a new object.
    private mutating func assignments(
        _ entity: EntityDescription,
        isNew: Bool
    ) -> (values: [PropertyAssignment], placements: [Placement]) {
        var values: [PropertyAssignment] = []
        var placements: [Placement] = []
        let isCareful = isNew && !self.random.oneIn(12)
        for attribute in entity.attributes {
            let isNeeded =
                isCareful && !attribute.isOptional && attribute.defaultValue.isNull && !attribute.defaultsToNow
            if isNeeded || self.random.oneIn(isNew ? 2 : 3) { values.append(self.assignment(attribute)) }
        }
        for relationship in entity.relationships where !relationship.isToMany {
            let isNeeded = isCareful && !relationship.isOptional
            guard isNeeded || self.random.oneIn(3) else { continue }
            let target = isNeeded || !self.random.oneIn(4) ? self.object(of: relationship.destination) : nil
            let inverse = self.graph.inverse(relationship)
            if let target, isNew, inverse.isOrdered, self.random.oneIn(2) {
                let place = self.place(among: target, inverse)
                placements.append(.init(relationship: relationship.number, owner: self.reference(target), place: place))
            } else {
                values.append(self.assignment(relationship, target))
            }
        }
        if self.isWrong() {
            values.append(PropertyAssignment(PropertyNumber(UInt16(self.random.below(30))), .value(.null)))
        }
        if self.isWrong(), let first = values.first { values.append(first) }
        values.shuffle(using: &self.random)
        return (values, placements)
    }

    // MARK: Steps

    private mutating func addInsert() {
        let any = self.isWrong() ? EntityNumber(77) : self.anyEntity()
        guard let entity = self.concrete(any) else {
            return self.add(.insert(entity: any, values: [], placements: []))
        }
        self.insert(entity, depth: 0)
    }

    /// Inserts an object and the objects that it requires.
    private mutating func insert(_ entity: EntityDescription, depth: Int) {
        if depth < 3, !self.random.oneIn(10) {
            for relationship in entity.relationships where !relationship.isToMany && !relationship.isOptional {
                let isThere = !self.graph.ids(of: relationship.destination).isEmpty
                if isThere, !self.random.oneIn(6) { continue }
                if let target = self.concrete(relationship.destination) { self.insert(target, depth: depth + 1) }
            }
        }
        let (values, placements) = self.assignments(entity, isNew: true)
        // A wrong one is of another session, or of no session, or used already.
        let ids = self.scratch.reserved.sorted()
        let id = ids.isEmpty || self.isWrong() ? self.anyObject() : ids.randomElement(using: &self.random)
        guard !ids.isEmpty, let id, self.random.oneIn(2) else {
            return self.add(.insert(entity: entity.number, values: values, placements: placements))
        }
        self.add(.insertAs(id, entity: entity.number, values: values, placements: placements))
        guard !self.isOver, let id = self.scratch.results.last??.id, self.graph.objects[id] != nil,
            !self.random.oneIn(10)
        else { return }
        for relationship in entity.relationships where relationship.isToMany && !relationship.isOptional {
            for _ in 0..<max(relationship.minimumCount, 1) {
                if depth < 2, self.random.oneIn(3), let target = self.concrete(relationship.destination) {
                    self.insert(target, depth: depth + 1)
                }
                guard !self.isOver, self.graph.objects[id] != nil,
                    let target = self.object(of: relationship.destination)
                else { return }
                let references = (self.reference(id), self.reference(target))
                self.add(.relate(references.0, relationship.number, references.1, .last))
            }
        }
    }

    private mutating func addUpdate() {
        guard let id = self.anyObject() else { return self.addInsert() }
        let (values, _) = self.assignments(self.graph.entity(of: id), isNew: false)
        let object = self.isWrong() ? ObjectReference.object(self.missingObject()) : self.reference(id)
        self.add(.update(object, values: values))
    }

    private mutating func addMove() {
        guard let id = self.anyObject() else { return self.addInsert() }
        let ordered = self.graph.entity(of: id).relationships.filter {
            (!$0.isToMany && self.graph.inverse($0).isOrdered) || self.random.oneIn(200)
        }
        guard let relationship = ordered.randomElement(using: &self.random),
            let owner = self.object(of: relationship.destination)
        else { return self.addUpdate() }
        let place = self.place(among: owner, self.graph.inverse(relationship))
        let placement = Placement(relationship: relationship.number, owner: self.reference(owner), place: place)
        self.add(.move(self.reference(id), placement))
    }

    private mutating func addDelete() {
        guard let id = self.anyObject() else { return self.addInsert() }
        self.add(.delete(self.isWrong() ? .object(self.missingObject()) : self.reference(id)))
    }

    private mutating func anyToMany() -> (owner: ObjectID, relationship: RelationshipDescription)? {
        for _ in 0..<5 {
            guard let owner = self.anyObject() else { return nil }
            let relationships = self.graph.entity(of: owner).relationships.filter {
                $0.isToMany || self.random.oneIn(100)
            }
            if let relationship = relationships.randomElement(using: &self.random) { return (owner, relationship) }
        }
        return nil
    }

    private mutating func addRelate() {
        guard let (owner, relationship) = self.anyToMany(), let object = self.object(of: relationship.destination)
        else {
            return self.addUpdate()
        }
        let place = self.place(among: owner, relationship)
        let references = (self.reference(owner), self.reference(object))
        self.add(.relate(references.0, relationship.number, references.1, place))
    }

    private mutating func addUnrelate() {
        guard let (owner, relationship) = self.anyToMany() else { return self.addUpdate() }
        let there = self.graph.related(owner, relationship.number).randomElement(using: &self.random)
        guard let object = self.random.oneIn(5) ? self.object(of: relationship.destination) : there else { return }
        let references = (self.reference(owner), self.reference(object))
        self.add(.unrelate(references.0, relationship.number, references.1))
    }

    private mutating func addSetRelated() {
        guard let (owner, relationship) = self.anyToMany() else { return self.addUpdate() }
        var objects = self.graph.related(owner, relationship.number).filter { _ in !self.random.oneIn(4) }
        for _ in 0..<self.random.below(4) {
            guard let object = self.object(of: relationship.destination) else { continue }
            if !objects.contains(object) || self.isWrong() { objects.append(object) }
        }
        if self.random.oneIn(2) { objects.shuffle(using: &self.random) }
        let references = objects.map { self.reference($0) }
        self.add(.setRelated(self.reference(owner), relationship.number, references))
    }

    private mutating func addFindOrCreate() {
        let number = self.anyEntity()
        let isAny = self.random.oneIn(4)
        guard let entity = isAny ? self.graph.model.entity(number) : self.concrete(number) else {
            return self.addUpdate()
        }
        var (match, placements) = self.assignments(entity, isNew: true)
        // Often the values of an existing object.
        if self.random.oneIn(2), let id = self.graph.ids(of: entity.number).randomElement(using: &self.random) {
            match = self.ofObject(id, entity).shuffled(using: &self.random)
            placements = []
        }
        let count = match.isEmpty ? 0 : 1 + self.random.below(match.count)
        let values = Array(match.dropFirst(count))
        self.add(
            .findOrCreate(
                entity: entity.number,
                match: Array(match.prefix(self.isWrong() ? 0 : count)),
                values: values,
                placements: placements
            )
        )
    }

    /// Returns all values of an object as assignments.
    private mutating func ofObject(_ id: ObjectID, _ entity: EntityDescription) -> [PropertyAssignment] {
        var values = entity.attributes.map { PropertyAssignment($0.number, .value(self.graph.value(id, $0.number))) }
        for relationship in entity.relationships where !relationship.isToMany {
            values.append(self.assignment(relationship, self.graph.related(id, relationship.number).first))
        }
        return values
    }

    /// Adds mutations that insert, delete and move several objects of one ordered list.
    private mutating func addReordering() -> Bool {
        var lists: [(owner: ObjectID, relationship: RelationshipDescription)] = []
        for owner in self.graph.objects.keys.sorted() {
            for relationship in self.graph.entity(of: owner).relationships
            where relationship.isOrdered && self.graph.related(owner, relationship.number).count > 1 {
                lists.append((owner, relationship))
            }
        }
        guard let (owner, relationship) = lists.randomElement(using: &self.random) else { return false }
        for _ in 0..<(2 + self.random.below(4)) where !self.isOver && self.graph.objects[owner] != nil {
            let member = self.graph.related(owner, relationship.number).randomElement(using: &self.random)
            let references = (self.reference(owner), member.map { self.reference($0) })
            switch (self.random.below(8), references.1) {
            case (0, let member?): self.add(.delete(member))
            case (1, let member?): self.add(.unrelate(references.0, relationship.number, member))
            case (2..<7, let member?):
                self.add(.relate(references.0, relationship.number, member, self.place(among: owner, relationship)))
            default:
                guard let other = self.object(of: relationship.destination) else { continue }
                let reference = self.reference(other)
                self.add(.relate(references.0, relationship.number, reference, self.place(among: owner, relationship)))
            }
        }
        return !self.mutations.isEmpty
    }

    /// Adds mutations by which two objects exchange their unique values.
    private mutating func addSwap() -> Bool {
        for entity in self.graph.model.entities.shuffled(using: &self.random) {
            guard let constraint = entity.uniquenessConstraints.randomElement(using: &self.random) else { continue }
            let ids = self.graph.ids(of: entity.number).shuffled(using: &self.random)
            guard ids.count > 1, constraint.allSatisfy({ entity.attribute($0) != nil }) else { continue }
            let held = self.graph
            for (id, other) in [(ids[0], ids[1]), (ids[1], ids[0])] {
                let values = constraint.map { PropertyAssignment($0, .value(held.value(other, $0))) }
                self.add(.update(self.reference(id), values: values))
            }
            return true
        }
        return false
    }
}
