import NestEngine
import NestModel
import NestTestSupport
import Testing

/// A bitmap holds the same ids as a set with the same changes, and rolls back logged changes.
@Suite struct ObjectBitmapTests {
    @Test func aBitmapEqualsASet() {
        for seed in 0..<40 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var bitmap = ObjectBitmap()
            var set: Set<Int64> = []
            var logged: Set<Int64>?
            let space = [300, 2_000, 1 << 40][random.below(3)]
            func id() -> Int64 { Int64(1 + random.below(space)) }
            for _ in 0..<400 {
                switch random.below(12) {
                case 0:
                    let first = id()
                    let run = first...(first + Int64(random.below(700)))
                    if random.oneIn(3) {
                        bitmap.remove(run)
                        set.subtract(run)
                    } else {
                        bitmap.insert(run)
                        set.formUnion(run)
                    }
                case 1 where logged == nil:
                    bitmap.beginLog()
                    logged = set
                case 2:
                    bitmap.endLog()
                    logged = nil
                case 3:
                    bitmap.rollBack()
                    set = logged ?? set
                    logged = nil
                case 4...7:
                    let id = set.randomElement(using: &random) ?? id()
                    #expect(bitmap.remove(ObjectID(id)) == (set.remove(id) != nil), "seed \(seed)")
                default:
                    let id = id()
                    #expect(bitmap.insert(ObjectID(id)) == set.insert(id).inserted, "seed \(seed)")
                }
                #expect(bitmap.count == set.count && bitmap.isEmpty == set.isEmpty, "seed \(seed)")
                let probe = id()
                #expect(bitmap.contains(ObjectID(probe)) == set.contains(probe), "seed \(seed)")
            }
            for id in set { #expect(bitmap.contains(ObjectID(id)), "seed \(seed): \(id)") }
        }
    }

    /// An import of a million objects inserts a run of a million ids.
    @Test func denseIDsTakeLessThanAByteEach() {
        var bitmap = ObjectBitmap()
        bitmap.insert(5...1_000_004)
        #expect(bitmap.count == 1_000_000 && bitmap.byteCount < 1_000_000)
        #expect(!bitmap.contains(ObjectID(4)) && bitmap.contains(ObjectID(5)))
        #expect(bitmap.contains(ObjectID(1_000_004)) && !bitmap.contains(ObjectID(1_000_005)))
    }
}
