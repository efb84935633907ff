import NestMeaning
import NestTestSupport

/// Meaningful requests to the engine.
enum MeaningTargets {
    /// More requests than 4 KiB of input can select.
    private static let requestsMax = 1_000

    /// The first byte selects the model, the others select the requests.
    static func requests(_ bytes: [UInt8]) throws {
        guard let first = bytes.first else { return }
        let run = try MeaningRun(SeededRandom(bytes: Array(bytes.dropFirst())), model: UInt64(first))
        try run.run(requests: Self.requestsMax)
        try run.close()
    }
}
