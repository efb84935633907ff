import NestMeaning
import NestTestSupport

/// Requests that mean something.
enum MeaningTargets {
    /// More than 4 KiB of choices can ask for.
    private static let requestsMax = 1_000

    /// The first byte chooses the model, the others what is asked.
    static func requests(_ bytes: [UInt8]) throws {
        guard let first = bytes.first else { return }
        let run = try MeaningRun(SeededRandom(bytes: Array(bytes.dropFirst())), model: UInt64(first))
        try run.run(requests: Self.requestsMax)
        try run.close()
    }
}
