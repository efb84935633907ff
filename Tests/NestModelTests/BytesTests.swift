import NestModel
import NestTestSupport
import Testing
import NestProtocol

/// Values are read back as they were written, and the reader consumes all bytes.
@Suite struct BytesTests {
    @Test func numbersRoundTrip() throws {
        for seed in 0..<20_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let unsigned = random.next() >> UInt64(2 + random.below(62))
            let signed = (random.integer() >> 2)
            var writer = ByteWriter()
            writer.write(varint: unsigned)
            writer.write(zigzag: signed)
            writer.write(integer: UInt32(truncatingIfNeeded: unsigned))
            let (a, b, c) = try readWhole(writer.bytes) { (reader) throws(DecodingFailure) in
                (try reader.varint("a"), try reader.zigzag("b"), try reader.integer(UInt32.self, "c"))
            }
            if a != unsigned || b != signed || c != UInt32(truncatingIfNeeded: unsigned) {
                Issue.record("seed \(seed)")
            }
        }
    }

    /// A number is written in the shortest of the four lengths and read in any of them.
    @Test func numbersAreWrittenInTheShortestLength() throws {
        for (value, count) in [
            (0, 1), (63, 1), (64, 2), (16_383, 2), (16_384, 4), (1 << 30 - 1, 4), (1 << 30, 8), (1 << 62 - 1, 8),
        ] {
            var writer = ByteWriter()
            writer.write(varint: UInt64(value))
            #expect(writer.count == count, "\(value)")
        }
        for bytes: [UInt8] in [[7], [0x40, 7], [0x80, 0, 0, 7], [0xc0, 0, 0, 0, 0, 0, 0, 7]] {
            #expect(try readWhole(bytes) { (reader) throws(DecodingFailure) in try reader.varint("n") } == 7)
        }
    }

    /// Values that are written together have the same bytes as values that are written one by one.
    @Test func smallValuesAreWrittenTogetherAsOneByOne() {
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let values = (0..<6).map { _ in random.next() >> UInt64.random(in: 2...63, using: &random) }
            var (together, single) = (ByteWriter(), ByteWriter())
            for writer in [seed & 1, seed & 2] where writer > 0 { together.write(varint: writer) }
            single.bytes = together.bytes
            together.write(atMost: values.count * SmallBytes.varintMax + 9) { bytes in
                bytes.write(byte: UInt8(truncatingIfNeeded: seed))
                bytes.write(integer: Int64(bitPattern: seed &* .max))
                for value in values { bytes.write(varint: value) }
            }
            single.write(byte: UInt8(truncatingIfNeeded: seed))
            single.write(integer: Int64(bitPattern: seed &* .max))
            for value in values { single.write(varint: value) }
            if together.bytes != single.bytes { Issue.record("seed \(seed): \(values)") }
        }
    }

    @Test func valuesRoundTripInTheirShortestForm() throws {
        for seed in 0..<20_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let value = random.attributeValue()
            var writer = ByteWriter()
            writer.write(value: value)
            let back = try readWhole(writer.bytes) { (reader) throws(DecodingFailure) in try reader.value("value") }
            var again = ByteWriter()
            again.write(value: back)
            if back != value || again.bytes != writer.bytes { Issue.record("seed \(seed): \(value)") }
        }
    }

    /// Any value that is cut at any byte is refused as truncated.
    @Test func everyTruncationOfAValueIsRefused() {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var writer = ByteWriter()
            writer.write(value: random.attributeValue())
            for count in 0..<writer.count {
                let cut = Array(writer.bytes.prefix(count))
                let failure = #expect(throws: DecodingFailure.self) {
                    try ByteReader.read(cut) { (reader) throws(DecodingFailure) in try reader.value("value") }
                }
                if failure?.reason != .truncated { Issue.record("seed \(seed): \(count) bytes") }
            }
        }
    }

    @Test func aListBeyondItsLimitIsRefusedWithTheNumber() {
        var writer = ByteWriter()
        writer.write(count: 9)
        let failure = #expect(throws: DecodingFailure.self) {
            try readWhole(writer.bytes) { (reader) throws(DecodingFailure) in try reader.count("sort keys", max: 8) }
        }
        #expect(failure?.description == "sort keys: at most 8 are allowed" && failure?.code == .limitExceeded)
    }

    @Test func longValuesAreRefusedFromTheirLength() throws {
        let longest = AttributeValue.string(String(repeating: "x", count: Limits.valueBytesMax))
        var writer = ByteWriter()
        writer.write(value: longest)
        #expect(
            try readWhole(writer.bytes) { (reader) throws(DecodingFailure) in try reader.value("value") } == longest
        )
        for tag in [ValueTag.string, ValueTag.data] {
            var writer = ByteWriter()
            writer.write(byte: tag)
            writer.write(count: Limits.valueBytesMax + 1)
            #expect(throws: DecodingFailure(.valueTooLarge, "value")) {
                try readWhole(writer.bytes) { (reader) throws(DecodingFailure) in try reader.value("value") }
            }
        }
        #expect(DecodingFailure(.valueTooLarge, "value").code == .valueTooLarge)
    }

    @Test func transactionsRoundTrip() throws {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let transaction = random.transaction()
            var writer = ByteWriter()
            writer.write(key: transaction.key)
            writer.write(transactionBody: transaction)
            let back = try readWhole(writer.bytes) { (reader) throws(DecodingFailure) in
                let key = try reader.key()
                return try reader.transaction(key: key)
            }
            if back != transaction { Issue.record("seed \(seed)") }
        }
    }

    /// Runs are read back as they were written, and each result number finds its object.
    @Test func receiptsRoundTrip() throws {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let (runs, objects) = random.runs()
            var writer = ByteWriter()
            writer.write(runs: runs)
            let back = try readWhole(writer.bytes) { (reader) throws(DecodingFailure) in try reader.runs() }
            let receipt = Receipt(revision: Revision(1), isChanged: true, results: back)
            let results = (1...objects.count + 1).map { receipt.result($0) }
            let isSame = zip(results, objects).allSatisfy { $0?.id == $1.id && $0?.isFound == $1.isFound }
            if back != runs || !isSame || results.last! != nil || receipt.resultIDs != objects.map(\.id)
                || receipt.insertedCount != objects.count(where: { !$0.isFound })
                || receipt.insertedIDs != objects.filter({ !$0.isFound }).map(\.id)
            {
                Issue.record("seed \(seed)")
            }
            #expect(receipt.result(0) == nil && receipt.result(-1) == nil)
        }
    }

    @Test func faultsAndFetchRequestsRoundTrip() throws {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let fault = random.fault()
            let request = random.fetchRequest()
            var writer = ByteWriter()
            writer.write(validationFault: fault)
            writer.write(fetchRequest: request)
            let (first, second) = try readWhole(writer.bytes) { (reader) throws(DecodingFailure) in
                (try reader.validationFault(), try reader.fetchRequest())
            }
            if first != fault || second != request { Issue.record("seed \(seed)") }
        }
    }

    /// A count is checked against the remaining bytes before memory is allocated for it.
    @Test func countsBeyondTheRemainingBytesAreRefused() {
        for count in [3, 1_000, 1 << 40, 1 << 62 - 1] {
            var writer = ByteWriter()
            writer.write(count: count)
            writer.write(raw: [0, 0, 0, 0, 0])
            #expect(throws: DecodingFailure(.truncated, "things")) {
                try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in
                    try reader.count("things", bytesEach: 2)
                }
            }
        }
    }

    /// A subtree of any shape, cut into chunks at any rows, is read back row by row with its depths.
    @Test func subtreesRoundTripInChunksOfAnySize() throws {
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var depth = 0
            let hasIDs = random.oneIn(2)
            let rows = (0..<1 + random.below(40)).map { index in
                depth = index == 0 ? 0 : random.oneIn(3) ? random.below(depth + 2) : depth + random.below(2)
                return SubtreeRow(
                    depth: depth,
                    id: hasIDs ? random.objectID() : nil,
                    values: [random.attributeValue(), random.attributeValue()]
                )
            }
            var writer = SubtreeChunkWriter(valueCount: 2, hasIDs: hasIDs)
            var reader = SubtreeChunkReader(valueCount: 2)
            var back: [SubtreeRow] = []
            for (index, row) in rows.enumerated() {
                writer.append(row)
                guard random.oneIn(4) || index == rows.count - 1 else { continue }
                back += try reader.rows(of: writer.take())
            }
            if back != rows || reader.rowCount != rows.count { Issue.record("seed \(seed)") }
        }
    }

    @Test func subtreesDeeperThanTheLimitAreRefused() {
        var writer = SubtreeChunkWriter(valueCount: 0, hasIDs: false)
        for depth in 0...3 { writer.append(SubtreeRow(depth: depth, id: nil, values: [])) }
        var reader = SubtreeChunkReader(valueCount: 0, depthMax: 2)
        let body = writer.take()
        #expect(throws: DecodingFailure(.limit, "depth")) { try reader.rows(of: body) }
        #expect(reader.rowCount == 0)
    }
}

extension SeededRandom {
    fileprivate mutating func reference() -> ObjectReference {
        self.oneIn(2) ? .object(self.objectID()) : .inserted(1 + self.below(100))
    }

    fileprivate mutating func placement() -> Placement {
        let place: Place =
            switch self.below(6) {
            case 0: .last
            case 1: .first
            case 2: .before(self.reference())
            case 3: .after(self.reference())
            case 4: .near(left: self.oneIn(3) ? nil : self.reference(), right: self.oneIn(3) ? nil : self.reference())
            default: .at(self.below(1_000_000))
            }
        return Placement(relationship: PropertyNumber(5), owner: self.reference(), place: place)
    }

    fileprivate mutating func assignments() -> [PropertyAssignment] {
        (0..<self.below(4)).map { _ in
            PropertyAssignment(
                PropertyNumber(UInt16(self.below(65_536))),
                self.oneIn(3) ? .reference(self.reference()) : .value(self.attributeValue())
            )
        }
    }

    fileprivate mutating func transaction() -> WriteTransaction {
        let name = self.text(max: 8)
        return WriteTransaction(
            name: name.isEmpty ? nil : name,
            key: self.oneIn(2) ? self.identifier() : nil,
            preconditions: (0..<self.below(3)).map { _ in
                Precondition(object: self.objectID(), revision: self.revision())
            },
            mutations: (0..<self.below(6)).map { _ in
                self.mutation()
            }
        )
    }

    private mutating func mutation() -> Mutation {
        let entity = EntityNumber(UInt16(self.below(9)))
        let relationship = PropertyNumber(UInt16(self.below(65_536)))
        switch self.below(9) {
        case 8:
            let (values, placements) = (self.assignments(), self.placements())
            return .insertAs(self.objectID(), entity: entity, values: values, placements: placements)
        case 0: return .insert(entity: entity, values: self.assignments(), placements: self.placements())
        case 1: return .update(self.reference(), values: self.assignments())
        case 2: return .move(self.reference(), self.placement())
        case 3: return .delete(self.reference())
        case 4: return .relate(self.reference(), relationship, self.reference(), self.placement().place)
        case 5: return .unrelate(self.reference(), relationship, self.reference())
        case 6:
            return .setRelated(self.reference(), relationship, (0..<self.below(200)).map { _ in self.reference() })
        default:
            return .findOrCreate(
                entity: entity,
                match: self.assignments(),
                values: self.assignments(),
                placements: self.placements()
            )
        }
    }

    private mutating func placements() -> [Placement] {
        (0..<self.below(2)).map { _ in self.placement() }
    }

    /// Returns runs as a transaction makes them, and the same objects one by one.
    fileprivate mutating func runs() -> (runs: [Receipt.Run], objects: [(id: ObjectID, isFound: Bool)]) {
        var runs: [Receipt.Run] = []
        var objects: [(id: ObjectID, isFound: Bool)] = []
        var id = self.objectID(max: 1 << 40)
        for _ in 0..<self.below(12) {
            let isFound = self.oneIn(2)
            id = self.oneIn(3) ? self.objectID(max: 1 << 40) : ObjectID(id.rawValue + 1)
            runs.append(id, isFound: isFound)
            objects.append((id, isFound))
        }
        return (runs, objects)
    }

    fileprivate mutating func fault() -> ValidationFault {
        ValidationFault(
            entity: EntityNumber(UInt16(self.below(9))),
            property: self.oneIn(2) ? PropertyNumber(UInt16(1 + self.below(9))) : nil,
            object: self.oneIn(2) ? self.objectID() : nil,
            reason: self.pick(ValidationFault.Reason.allCases),
            message: self.text(max: 30)
        )
    }

    fileprivate mutating func fetchRequest() -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EntityNumber(UInt16(1 + self.below(9))),
            source: self.oneIn(2)
                ? FetchSource(object: self.objectID(), relationship: PropertyNumber(UInt16(1 + self.below(9)))) : nil,
            projection: (0..<self.below(4)).map { _ in PropertyNumber(UInt16(self.below(9))) },
            sort: (0..<self.below(Limits.sortKeysMax + 1)).map { _ in
                OrderingTerm(PropertyNumber(UInt16(1 + self.below(9))), isAscending: self.oneIn(2))
            }
        )
    }
}
