import NestModel
import NestTestSupport

/// Random transactions over the objects of the scene.
extension SeededRandom {
    mutating func transaction(_ scene: MeaningScene) -> WriteTransaction {
        var steps = RandomSteps(scene: scene)
        for _ in 0..<(self.oneIn(2) ? 1 : self.below(7)) { steps.add(&self) }
        var transaction = WriteTransaction(mutations: steps.mutations)
        if self.oneIn(6) { transaction.name = self.name() }
        if self.oneIn(8) { transaction.key = self.key() }
        if self.oneIn(10) {
            transaction.preconditions = (0...self.below(3)).map { _ in
                Precondition(
                    object: self.oneIn(8) ? self.wildID() : self.anyObject(scene),
                    revision: self.wildRevision(scene)
                )
            }
        }
        if self.oneIn(8) {
            let key = self.pick(["a", "b", "", String(repeating: "k", count: 64), String(repeating: "k", count: 65)])
            transaction.coalescing = Coalescing(key: key, milliseconds: self.pick([0, 1_000, 60_000, 60_001, 1 << 61]))
        }
        return transaction
    }

    mutating func name() -> String {
        self.pick(["", "n", "\0", String(repeating: "n", count: 256), String(repeating: "n", count: 257), "\u{301}"])
    }

    /// Returns one of twelve keys, so that keys are reused, by the same request and by others.
    mutating func key() -> Identifier128 { Identifier128(high: 5, low: UInt64(self.below(12))) }

    mutating func undoOptions() -> UndoOptions {
        UndoOptions(policy: self.pick(UndoOptions.Policy.allCases), rehomes: self.oneIn(3))
    }
}

/// The steps of one transaction. A step may refer to objects that earlier steps created.
private struct RandomSteps {
    let scene: MeaningScene
    var mutations: [Mutation] = []
    /// The entities of the objects that inserts and find-or-creates made, in their order.
    private var made: [EntityNumber] = []

    init(scene: MeaningScene) {
        self.scene = scene
    }

    mutating func add(_ random: inout SeededRandom) {
        let isFull = self.scene.count > 70
        switch random.below(20) {
        case 0..<6 where !isFull, 0: self.insert(&random)
        case 1..<5, 6..<9: self.update(&random)
        case 9..<11: self.move(&random)
        case 5, 11: self.mutations.append(.delete(self.any(&random)))
        case 12..<15: self.relate(&random)
        case 15: self.unrelate(&random)
        case 16..<18: self.setRelated(&random)
        default: self.findOrCreate(&random)
        }
    }

    // MARK: References

    private func any(_ random: inout SeededRandom) -> ObjectReference {
        if random.isWrong() {
            return ObjectReference(rawValue: random.pick([0, -1, -2, -10_000, -10_001, -(1 << 60)]))
        }
        if !self.made.isEmpty, random.oneIn(4) { return .inserted(1 + random.below(self.made.count)) }
        return .object(random.isWrong() ? random.wildID() : random.anyObject(self.scene))
    }

    private func reference(to entity: EntityNumber, _ random: inout SeededRandom) -> ObjectReference {
        if random.isWrong() { return self.any(&random) }
        let fitting = self.made.indices.filter { self.scene.model.isKind(self.made[$0], of: entity) }
        if random.oneIn(4), let index = fitting.randomElement(using: &random) { return .inserted(index + 1) }
        return random.object(self.scene, of: entity).map { .object($0) } ?? self.any(&random)
    }

    private func property(_ number: PropertyNumber, _ random: inout SeededRandom) -> PropertyNumber {
        random.isWrong() ? PropertyNumber(random.wildNumber()) : number
    }

    private func place(_ isOrdered: Bool, among entity: EntityNumber, _ random: inout SeededRandom) -> Place {
        guard isOrdered || random.isWrong() else { return .last }
        switch random.below(6) {
        case 0: return .first
        case 1: return .last
        case 2: return .at(random.oneIn(6) ? random.wildCount() : random.below(4))
        default:
            let sibling = self.reference(to: entity, &random)
            if random.oneIn(4) {
                let other = random.oneIn(3) ? nil : self.reference(to: entity, &random)
                return random.oneIn(2) ? .near(left: sibling, right: other) : .near(left: other, right: sibling)
            }
            return random.oneIn(2) ? .before(sibling) : .after(sibling)
        }
    }

    // MARK: Values

    private func assignments(_ entity: EntityDescription, isNew: Bool, _ random: inout SeededRandom)
        -> (values: [PropertyAssignment], placements: [Placement])
    {
        var values: [PropertyAssignment] = []
        var placements: [Placement] = []
        for attribute in entity.attributes {
            let isNeeded = isNew && !attribute.isOptional && attribute.defaultValue.isNull && !random.isWrong()
            guard isNeeded || random.oneIn(3) else { continue }
            let value = MutationValue.value(random.value(self.scene, attribute))
            values.append(PropertyAssignment(self.property(attribute.number, &random), value))
        }
        for relationship in entity.relationships where !relationship.isToMany || random.isWrong() {
            guard random.oneIn(relationship.isOptional ? 3 : 1) || random.oneIn(3) else { continue }
            let target = self.reference(to: relationship.destination, &random)
            let number = self.property(relationship.number, &random)
            let inverse = self.scene.model.inverse(of: relationship)
            if isNew, inverse?.isOrdered ?? false, random.oneIn(2) {
                let place = self.place(true, among: entity.number, &random)
                placements.append(Placement(relationship: number, owner: target, place: place))
            } else if random.oneIn(5) {
                values.append(PropertyAssignment(number, .value(.null)))
            } else if target.rawValue > 0, random.oneIn(3) {
                values.append(PropertyAssignment(number, .value(.reference(ObjectID(target.rawValue)))))
            } else {
                values.append(PropertyAssignment(number, .reference(target)))
            }
        }
        if random.isWrong(), let first = values.first { values.append(first) }
        return (values, placements)
    }

    // MARK: Steps

    private func concrete(_ random: inout SeededRandom) -> EntityDescription? {
        let isAny = random.isWrong()
        return random.entity(self.scene) { !$0.isAbstract || isAny }
    }

    private mutating func insert(_ random: inout SeededRandom) {
        guard let entity = self.concrete(&random) else { return }
        let (values, placements) = self.assignments(entity, isNew: true, &random)
        let number = random.isWrong() ? EntityNumber(random.wildNumber()) : entity.number
        self.mutations.append(.insert(entity: number, values: values, placements: placements))
        self.made.append(entity.number)
    }

    private mutating func findOrCreate(_ random: inout SeededRandom) {
        guard let entity = self.concrete(&random) else { return }
        let (all, placements) = self.assignments(entity, isNew: true, &random)
        let count = all.isEmpty || random.isWrong() ? 0 : 1 + random.below(all.count)
        let (match, values) = (Array(all.prefix(count)), Array(all.dropFirst(count)))
        self.mutations.append(
            .findOrCreate(entity: entity.number, match: match, values: values, placements: placements)
        )
        self.made.append(entity.number)
    }

    private mutating func update(_ random: inout SeededRandom) {
        let id = random.anyObject(self.scene)
        guard let entity = self.scene.entity(of: id) ?? random.entity(self.scene) else { return }
        let (values, _) = self.assignments(entity, isNew: false, &random)
        self.mutations.append(.update(random.isWrong() ? self.any(&random) : .object(id), values: values))
    }

    private mutating func move(_ random: inout SeededRandom) {
        let model = self.scene.model
        let isOrdered = { (way: RelationshipDescription) in
            !way.isToMany && model.inverse(of: way)?.isOrdered == true
        }
        guard let (id, way) = random.owner(self.scene, where: isOrdered) else { return self.update(&random) }
        let siblings = model.inverse(of: way)?.destination ?? way.destination
        let placement = Placement(
            relationship: self.property(way.number, &random),
            owner: self.reference(to: way.destination, &random),
            place: self.place(true, among: siblings, &random)
        )
        self.mutations.append(.move(.object(id), placement))
    }

    private mutating func relate(_ random: inout SeededRandom) {
        guard let (owner, way) = random.owner(self.scene, where: \.isToMany) else { return self.update(&random) }
        let place = self.place(way.isOrdered, among: way.destination, &random)
        let object = self.reference(to: way.destination, &random)
        self.mutations.append(.relate(.object(owner), self.property(way.number, &random), object, place))
    }

    private mutating func unrelate(_ random: inout SeededRandom) {
        guard let (owner, way) = random.owner(self.scene, where: \.isToMany) else { return self.update(&random) }
        let object = self.reference(to: way.destination, &random)
        self.mutations.append(.unrelate(.object(owner), self.property(way.number, &random), object))
    }

    private mutating func setRelated(_ random: inout SeededRandom) {
        guard let (owner, way) = random.owner(self.scene, where: \.isToMany) else { return self.update(&random) }
        let objects = (0..<random.below(8)).map { _ in self.reference(to: way.destination, &random) }
        self.mutations.append(.setRelated(.object(owner), self.property(way.number, &random), objects))
    }
}
