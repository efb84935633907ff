import NestModel
import NestTestSupport
import Testing
import NestSchema

/// Writing a changed row directly gives the same bytes as writing its `ObjectChange`.
struct ChangedRowBytesTests {
    @Test(arguments: 1...20)
    func directBytesEqualThoseOfTheObjectChange(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let layout = ModelLayout(try random.smallModelDraft().compile())
        for entity in layout.entities {
            for _ in 0..<20 {
                let before = Bool.random(using: &random) ? Self.row(entity, &random) : nil
                let after = Bool.random(using: &random) ? Self.row(entity, &random) : nil
                let neighbours = entity.placedSlots.map { _ in
                    Bool.random(using: &random) ? Neighbours(left: ObjectID(3), right: nil) : nil
                }
                let object = ChangedRow(
                    entity: entity.number,
                    id: ObjectID(Int64.random(in: 1...1_000_000, using: &random)),
                    before: before,
                    after: after,
                    neighbours: Bool.random(using: &random) ? neighbours : []
                )
                var direct = ByteWriter()
                let kind = direct.write(change: object, layout: entity)
                var change = ByteWriter()
                if let made = object.change(entity) { change.write(change: made, layout: entity) }
                #expect(direct.bytes == change.bytes, "seed \(seed)")
                #expect(kind == object.change(entity)?.kind, "seed \(seed)")
            }
        }
    }

    private static func row(_ layout: EntityLayout, _ random: inout SeededRandom) -> ObjectRow {
        var values: [AttributeValue] = []
        for slot in layout.slots.indices {
            guard Int.random(in: 0..<4, using: &random) > 0 else {
                values.append(.null)
                continue
            }
            switch layout.slots[slot] {
            case .toOne: values.append(.reference(ObjectID(Int64.random(in: 1...100, using: &random))))
            case .attribute: values.append(.string("text \(Int.random(in: 0..<3, using: &random))"))
            }
        }
        let places = layout.placedSlots.map { slot in
            values[slot].isNull
                ? SparsePlace.none
                : SparsePlace(
                    position: Int64.random(in: -5...5, using: &random),
                    stamp: UInt64.random(in: 1...3, using: &random)
                )
        }
        return ObjectRow(
            entity: layout.number,
            revision: Revision(UInt64.random(in: 1...9, using: &random)),
            values: values,
            places: SparsePlaces(places)
        )
    }
}
