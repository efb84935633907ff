import NestModel
import NestSchema
import NestTestSupport
import Testing

/// A row of encoded values behaves as an array of values.
@Suite struct EncodedValuesTests {
    @Test(arguments: Seeds.range(1..<41))
    func itEqualsAnArrayOfValues(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for _ in 0..<20 {
            var values = (0..<random.below(12)).map { _ in Self.value(&random) }
            var row = EncodedValues(values)
            for _ in 0..<20 {
                Self.check(row, values, seed)
                guard !values.isEmpty else { break }
                let slot = random.below(values.count)
                let value = Self.value(&random)
                let (oldRow, oldValues) = (row, values)
                values[slot] = value
                row[slot] = value
                Self.check(oldRow, oldValues, seed)
                #expect((row == oldRow) == (values == oldValues), "seed \(seed)")
                for slot in values.indices {
                    #expect(row.isSame(slot, as: oldRow) == (values[slot] == oldValues[slot]), "seed \(seed)")
                }
            }
        }
    }

    private static func check(_ row: EncodedValues, _ values: [AttributeValue], _ seed: UInt64) {
        #expect(row.count == values.count, "seed \(seed)")
        #expect(row.decoded == values, "seed \(seed)")
        #expect(row == EncodedValues(values), "seed \(seed)")
        #expect(row.byteCount == values.reduce(0) { $0 + $1.byteCount }, "seed \(seed)")
        var references: [Int: ObjectID] = [:]
        row.forEachReference { references[$0] = $1 }
        var whole = ByteWriter()
        for (slot, value) in values.enumerated() {
            #expect(row[slot] == value, "seed \(seed)")
            #expect(row.isNull(slot) == value.isNull, "seed \(seed)")
            #expect(row.reference(slot) == value.referenceValue, "seed \(seed)")
            #expect(references[slot] == value.referenceValue, "seed \(seed)")
            whole.write(value: value)
        }
        #expect(row.withSlots { [UInt8]($0.whole) } == whole.bytes, "seed \(seed)")
    }

    /// The numbers at which the byte form becomes longer, and texts and data of all sizes of their length.
    @Test func valuesAtTheEdgesOfTheirFormsAreKept() {
        var values: [AttributeValue] = [
            .double(0), .double(-0.0), .double(.infinity), .double(5e-324), .uuid(.init(high: 1, low: .max)),
        ]
        let numbers: [Int64] = [0, 63, 64, 1 << 29, 1 << 61, .max, -1, -(1 << 61), -(1 << 61) - 1, .min]
        for number in numbers {
            values += [.integer(number), .date(number)]
        }
        for size in [0, 1, 15, 16, 63, 64, 16_383, 16_384, 70_000] {
            values += [.string(String(repeating: "a", count: size)), .data([UInt8](repeating: 7, count: size))]
        }
        for id in [1, 63, 64, 16_384, 1 << 30, Limits.objectIDMax] { values.append(.reference(ObjectID(id))) }
        #expect(EncodedValues(values).decoded == values)
    }

    private static func value(_ random: inout SeededRandom) -> AttributeValue {
        switch random.below(10) {
        case 0, 1: .null
        case 2: .boolean(random.below(2) == 0)
        case 3: .integer(random.integer() >> Int64(random.below(64)))
        case 4: .double(Double(random.below(100)) / 8)
        case 5: .string(String(repeating: "é", count: random.below(80)))
        case 6: .date(random.integer() >> Int64(random.below(64)))
        case 7: .data((0..<random.below(100)).map { UInt8($0) })
        case 8: .uuid(Identifier128(high: random.next(), low: random.next()))
        default: .reference(ObjectID(1 + Int64(random.below(1_000_000))))
        }
    }
}
