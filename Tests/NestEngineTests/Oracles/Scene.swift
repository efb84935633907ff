import NestModel
import NestTestSupport

/// The material for random requests and writes: a model, the objects of the store, and a few values of each type, so
/// that equal values are frequent.
struct Scene {
    var model: ManagedObjectModel
    var naive: NaiveResults
    /// Whether predicates may have SUBQUERYs.
    var hasSubqueries = false
    private(set) var pool: [AttributeType: [AttributeValue]] = [:]
    /// Paths that many requests use, so that results share them.
    private(set) var favourites: [PathKind: [PropertyPath]] = [:]

    /// The feature that most requests and writes use.
    enum Focus: CaseIterable {
        case anything, trees, pairs
    }

    let focus: Focus
    /// Whether nearly all requests use the favourite paths.
    let isNarrow: Bool

    struct PathKind: Hashable {
        var entity: EntityNumber
        var toMany: Bool
        var end: SeededRandom.PathEnd
    }

    init(model: ManagedObjectModel, naive: NaiveResults, _ random: inout SeededRandom) {
        self.model = model
        self.naive = naive
        self.focus = Focus.allCases.randomElement(using: &random)!
        self.isNarrow = random.oneIn(3)
        for type in AttributeType.inRows { self.pool[type] = (0..<3).map { _ in random.keptValue(of: type) } }
        let texts = [
            "", "a", "A", "aa", "ab", "Á", "e\u{301}a", "\u{e9}", "\u{df}", "SS", "\u{1e9e}", "\u{130}x", "\u{1f600}a",
            "\u{1}",
            "a long title of its own", "a long title of its town", "A Long title of its owner",
        ]
        self.pool[.string]! += texts.shuffled(using: &random).prefix(9).map { .string($0) }
        self.pool[.decimal]! += ["-1", "-1.01", "1", "1.01", "0", "10"].map { .string($0) }
        let day: Int64 = 86_400_000_000
        let moments = [0, -1, .min, .max, day, day - 1, 40 * day, 41 * day, 365 * day, -366 * day, 59 * day, 60 * day]
        self.pool[.date]! += moments.shuffled(using: &random).prefix(6).map { .date($0) }
        self.pool[.integer]! += [0, 1, 2, 3].map { .integer($0) }
        // Numbers whose sums have room, in half of the scenes.
        if random.oneIn(2) {
            self.pool[.integer] = [0, 1, 2, 3, -7, 1 << 40].map { .integer($0) }
            self.pool[.decimal] = ["-1", "-1.01", "1", "1.01", "0", "10", "0.0000001"].map { .string($0) }
            self.pool[.double] = [0.1, 0.2, -0.3, 1e16, -1e16, 1, 0x1p-60].map { .double($0) }
            self.pool[.float] = [0.5, 3, -1e9].map { .double($0) }
        }
        for entity in model.entities {
            for (toMany, end) in [(false, .attribute), (false, .count), (true, .attribute)]
                as [(Bool, SeededRandom.PathEnd)]
            {
                let paths = (0..<2).compactMap { _ in random.path(self, of: entity, toMany: toMany, ends: [end]) }
                self.favourites[PathKind(entity: entity.number, toMany: toMany, end: end)] = paths
            }
        }
    }

    /// Returns values for an attribute, in the form in which it stores them.
    func values(_ attribute: AttributeDescription) -> [AttributeValue] {
        self.pool[attribute.type]!.map(attribute.kept)
    }

    /// Whether the sum of an attribute's values has room in its type, however many there are.
    func isSmall(_ attribute: AttributeDescription) -> Bool {
        self.values(attribute).allSatisfy { value in
            switch value {
            case .integer(let number): number.magnitude < 1 << 50
            case .double(let number): number.magnitude < 1e300
            case .string(let text): text.utf8.count < 13
            default: true
            }
        }
    }

    /// Returns an attribute of an entity: in half of all cases one whose values have a sum, if there is one.
    func aggregated(of entity: EntityDescription, _ random: inout SeededRandom) -> AttributeDescription? {
        let numbers = entity.attributes.filter { AggregateFunction.sum.type(of: $0.type) != nil && self.isSmall($0) }
        let number = random.oneIn(2) ? numbers.randomElement(using: &random) : nil
        return number ?? entity.attributes.randomElement(using: &random)
    }

    /// Returns the relationships that form trees of the entity's objects. Those of hidden inverses may form circles.
    func trees(of entity: EntityDescription) -> [RelationshipDescription] {
        entity.relationships.filter { self.model.hasSubtrees(of: entity, by: $0) }
    }

    func entity(of id: ObjectID) -> EntityDescription? { self.naive.entity(of: id) }
}

extension SeededRandom {
    mutating func entity(_ scene: Scene, where isWanted: (EntityDescription) -> Bool = { _ in true })
        -> EntityDescription?
    {
        scene.model.entities.filter(isWanted).randomElement(using: &self)
    }

    /// Returns an object of an entity, often one of the first three.
    mutating func object(_ scene: Scene, of entity: EntityNumber) -> ObjectID? {
        let ids = scene.naive.objects(of: entity)
        return (self.oneIn(2) ? ids.prefix(3) : ids[...]).randomElement(using: &self)
    }

    mutating func value(_ scene: Scene, _ attribute: AttributeDescription) -> MutationValue {
        if attribute.isOptional, self.oneIn(6) { return .value(.null) }
        return .value(scene.values(attribute).randomElement(using: &self)!)
    }

    /// Returns an object and one of its relationships that satisfies the condition.
    mutating func owner(_ scene: Scene, where isWanted: (RelationshipDescription) -> Bool)
        -> (id: ObjectID, relationship: RelationshipDescription)?
    {
        guard let entity = self.entity(scene, where: { $0.relationships.contains(where: isWanted) }),
            let owner = self.object(scene, of: entity.number),
            let relationship = scene.entity(of: owner)?.relationships.filter(isWanted).randomElement(using: &self)
        else { return nil }
        return (owner, relationship)
    }
}
