import NestEngine
import NestModel
import NestProtocol
import NestTestSupport

@testable import NestStore

extension EngineFixture {
    static let scan = PropertyNumber(7)

    /// The nested list, whose items have a large value too.
    static let modelWithValues: ManagedObjectModel = {
        let item = ManagedObjectModel.nestedList.entities[0]
        let scan = AttributeDescription(
            number: EngineFixture.scan.rawValue,
            name: "scan",
            type: .largeData,
            isOptional: true
        )
        let entity = EntityDescription(
            number: item.number.rawValue,
            name: item.name,
            attributes: item.attributes + [scan],
            relationships: item.relationships,
            root: item.root
        )
        return ManagedObjectModel(entities: [entity])
    }()

    /// A value of random bytes, cut as the server cuts it. `isDamaged`: whether its digest is wrong.
    static func putting(_ count: Int, seed: UInt64 = 1, isDamaged: Bool = false, heldBy holder: Holder? = nil) throws
        -> EngineRequest
    {
        var random = SeededRandom(seed: seed)
        let bytes = random.bytes(count)
        var chunks = try SpooledChunks(directory: "/tmp", heldBy: holder)
        for start in stride(from: 0, to: bytes.count, by: Limits.largeValuePieceBytes) {
            try chunks.append(Array(bytes[start..<min(start + Limits.largeValuePieceBytes, bytes.count)]))
        }
        var hash = RunningHash()
        hash.update(isDamaged ? bytes + [0] : bytes)
        let digest = hash.finishWhole()
        return .putValue(StagedValue(type: .largeData, length: count, digest: digest, chunks: chunks))
    }

    /// As what counts the bytes of a spool file.
    final class Holder: Sendable {}

    static func setting(_ id: ObjectID, _ value: LargeValue) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(Self.scan, .value(value.value))])
    }
}

extension EngineReply {
    var largeValue: LargeValue? { if case .value(let value, _) = self { value } else { nil } }
}

extension Store {
    /// The rows of a table of large values.
    func valueRows(_ table: String, where condition: String = "TRUE") throws -> Int {
        var count = 0
        try StoredFile(self.path).forEachRow("SELECT count(*) FROM \(table) WHERE \(condition)") {
            count = Int($0.integer(0))
            return true
        }
        return count
    }
}
