import NestModel
import NestTestSupport

/// The material for random requests: a model, the objects that are known to be in the store, and a few values of each
/// type, so that rows tie and requests repeat.
struct MeaningScene {
    let model: ManagedObjectModel
    private(set) var kinds: [ObjectID: EntityNumber] = [:]
    /// The objects by entity, including those of its sub-entities.
    private var ids: [EntityNumber: [ObjectID]] = [:]
    /// Objects that were deleted.
    private(set) var gone: [ObjectID] = []
    private(set) var pool: [AttributeType: [AttributeValue]] = [:]
    var head = Revision(0)
    var historyID = Identifier128(high: 0, low: 0)

    init(model: ManagedObjectModel, _ random: inout SeededRandom) {
        self.model = model
        for type in AttributeType.inRows { self.pool[type] = (0..<4).map { _ in random.triedValue(of: type) } }
        self.pool[.string]! += ["", "a", "A", "\u{c1}", "e\u{301}a", "\u{df}", "\u{130}x", "\u{1f600}", "*"].map {
            .string($0)
        }
        self.pool[.date]! += [0, .min, .max, 86_400_000_000, -1].map { .date($0) }
        self.pool[.double]! += [.infinity, -0.0, 1e300].map { .double($0) }
        self.pool[.integer]! += [.min, .max, 1 << 53 - 1, 0].map { .integer($0) }
    }

    /// Adds a large value that a client may set, if its session has sent it. The oldest are forgotten.
    mutating func add(_ value: LargeValue, _ type: AttributeType) {
        self.pool[type] = Array(((self.pool[type] ?? []) + [value.value]).suffix(4))
    }

    var count: Int { self.kinds.count }
    var all: [ObjectID] { self.kinds.keys.sorted() }

    func objects(of entity: EntityNumber) -> [ObjectID] { self.ids[entity] ?? [] }

    func entity(of id: ObjectID) -> EntityDescription? { self.kinds[id].flatMap { self.model.entity($0) } }

    /// Updates the scene to the objects that are in the store now.
    mutating func take(_ found: [ObjectID: EntityNumber]) {
        self.gone = Array((self.gone + self.kinds.keys.filter { found[$0] == nil }.sorted()).suffix(40))
        self.kinds = found
        self.ids = [:]
        for (id, entity) in found.sorted(by: { $0.key < $1.key }) {
            for ancestor in self.model.lineage(of: entity) { self.ids[ancestor.number, default: []].append(id) }
        }
    }

    /// Returns the relationships by which objects of an entity form trees.
    func trees(of entity: EntityDescription) -> [RelationshipDescription] {
        let top = { (number: EntityNumber) in self.model.lineage(of: number).last?.number }
        return entity.relationships.filter {
            $0.isToMany && $0.join == nil && top($0.destination) == top(entity.number)
        }
    }
}

/// Random values and numbers: mostly valid ones, sometimes ones at or beyond the limits of the protocol.
extension SeededRandom {
    /// Returns `true` once in 40 calls: the caller then uses something invalid.
    mutating func isWrong() -> Bool { self.oneIn(40) }

    mutating func wildNumber() -> UInt16 { self.pick([0, 1, 2, 7, 255, 999, 0xff00, 0xff01, 0xffff]) }

    mutating func wildID() -> ObjectID {
        ObjectID(self.pick([0, 1, 2, 77, 1 << 31, Limits.objectIDMax - 1, Limits.objectIDMax, 1 << 53, 1 << 61 - 1]))
    }

    mutating func wildCount() -> Int {
        self.pick([0, 1, 2, 5, 255, 65_535, 1 << 31, 1 << 53, 1 << 61, 1 << 62 - 1])
    }

    mutating func wildRevision(_ scene: MeaningScene) -> Revision {
        let head = scene.head.rawValue
        return Revision(self.pick([0, 1, head, head + 1, head / 2, max(head, 3) - 3, 1 << 53, 1 << 62 - 1]))
    }

    private static let wildIntegers: [Int64] = [
        .min, .max, .min + 1, 1 << 53 - 1, -(1 << 53), 1 << 61, -(1 << 61) - 1, 32_768,
    ]
    private static let wildDates: [Int64] = [
        .min, .max, .min + 1, -1, 0, 1 << 61, 253_402_300_800_000_000, -62_135_596_800_000_001,
    ]
    private static let wildDoubles: [Double] = [
        .nan, .infinity, -.infinity, -0.0, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0x1p63, 1e19, -0x1p63, 0.5,
    ]
    private static let wildTexts: [String] = [
        "", "\0", "a\0b", "*", "\\", "?", "1e40", "-1e-40", "-0.00", "\u{10ffff}",
    ]

    mutating func wildValue() -> AttributeValue {
        switch self.below(12) {
        case 0: return .null
        case 1: return .boolean(self.oneIn(2))
        case 2: return .integer(self.pick(Self.wildIntegers))
        case 3: return .double(self.pick(Self.wildDoubles))
        case 4: return .date(self.pick(Self.wildDates))
        case 5: return .data(self.bytes(self.pick([0, 1, 1_024, 1_025])))
        case 6: return .uuid(self.oneIn(2) ? Identifier128(high: .max, low: .max) : self.identifier())
        case 7: return .reference(self.wildID())
        case 8: return .string(self.pick(Self.wildTexts))
        case 9:
            let part = self.pick(["a", "*", "\u{301}", "?\\"])
            return .string(String(repeating: part, count: self.pick([1_024, 1_025, 400])))
        case 10: return .string(String(repeating: "9", count: self.pick([38, 39, 100])))
        default: return self.attributeValue()
        }
    }

    mutating func value(_ scene: MeaningScene, _ attribute: AttributeDescription) -> AttributeValue {
        if self.isWrong() { return self.wildValue() }
        if attribute.isOptional, self.oneIn(6) { return .null }
        if self.oneIn(4) {
            return self.oneIn(2) ? attribute.defaultValue : attribute.kept(self.keptValue(of: attribute.type))
        }
        return self.pick(scene.pool[attribute.type] ?? [.null])
    }

    mutating func entity(_ scene: MeaningScene, where isWanted: (EntityDescription) -> Bool = { _ in true })
        -> EntityDescription?
    {
        scene.model.entities.filter(isWanted).randomElement(using: &self)
    }

    /// Returns an object of an entity; half of the time one of the first four.
    mutating func object(_ scene: MeaningScene, of entity: EntityNumber) -> ObjectID? {
        if self.isWrong() { return self.oneIn(2) ? self.wildID() : self.anyObject(scene) }
        let ids = scene.objects(of: entity)
        return (self.oneIn(2) ? ids.prefix(4) : ids[...]).randomElement(using: &self)
    }

    /// Returns any object, sometimes a deleted one.
    mutating func anyObject(_ scene: MeaningScene) -> ObjectID {
        if self.oneIn(12), let gone = scene.gone.randomElement(using: &self) { return gone }
        return scene.all.randomElement(using: &self) ?? ObjectID(1)
    }

    /// Returns an object and one of its relationships that `isWanted` accepts.
    mutating func owner(_ scene: MeaningScene, where isWanted: (RelationshipDescription) -> Bool)
        -> (id: ObjectID, relationship: RelationshipDescription)?
    {
        for _ in 0..<4 {
            let id = self.anyObject(scene)
            if let relationship = scene.entity(of: id)?.relationships.filter(isWanted).randomElement(using: &self) {
                return (id, relationship)
            }
        }
        return nil
    }
}
