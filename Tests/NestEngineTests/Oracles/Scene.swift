import NestModel
import NestTestSupport

/// What random requests and writes are made of: a model, what there is, and a few values of each type, so that rows tie and
/// return.
struct Scene {
    let model: ManagedObjectModel
    var naive: NaiveResults
    private(set) var pool: [AttributeType: [AttributeValue]] = [:]
    /// Ways that are gone again and again, so that results share them.
    private(set) var favourites: [PathKind: [PropertyPath]] = [:]

    /// What requests and writes are mostly about.
    enum Focus: CaseIterable {
        case anything, trees, pairs
    }

    let focus: Focus
    /// Nearly always the same few ways.
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
        for type in AttributeType.allCases { self.pool[type] = (0..<3).map { _ in random.keptValue(of: type) } }
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
        for entity in model.entities {
            for (toMany, end) in [(false, .attribute), (false, .count), (true, .attribute)]
                as [(Bool, SeededRandom.PathEnd)]
            {
                let paths = (0..<2).compactMap { _ in random.path(self, of: entity, toMany: toMany, ends: [end]) }
                self.favourites[PathKind(entity: entity.number, toMany: toMany, end: end)] = paths
            }
        }
    }

    /// Values that an attribute may have; doubles of a float are its own.
    func values(_ attribute: AttributeDescription) -> [AttributeValue] {
        self.pool[attribute.type]!.map(attribute.kept)
    }

    /// Relationships by which the objects of an entity are below one another.
    func trees(of entity: EntityDescription) -> [RelationshipDescription] {
        let top = { (number: EntityNumber) in self.model.lineage(of: number).last?.number }
        return entity.relationships.filter {
            $0.isToMany && $0.join == nil && top($0.destination) == top(entity.number)
        }
    }

    func entity(of id: ObjectID) -> EntityDescription? { self.naive.entity(of: id) }
}

extension SeededRandom {
    mutating func entity(_ scene: Scene, where isWanted: (EntityDescription) -> Bool = { _ in true })
        -> EntityDescription?
    {
        scene.model.entities.filter(isWanted).randomElement(using: &self)
    }

    /// An object of an entity, mostly one of a few.
    mutating func object(_ scene: Scene, of entity: EntityNumber) -> ObjectID? {
        let ids = scene.naive.objects(of: entity)
        return (self.oneIn(2) ? ids.prefix(3) : ids[...]).randomElement(using: &self)
    }

    mutating func value(_ scene: Scene, _ attribute: AttributeDescription) -> MutationValue {
        if attribute.isOptional, self.oneIn(6) { return .value(.null) }
        return .value(scene.values(attribute).randomElement(using: &self)!)
    }

    /// An object with a relationship that is wanted.
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
