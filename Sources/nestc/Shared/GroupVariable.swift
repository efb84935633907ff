import NestClient
import NestModel

/// The group that this command is run in: `nestc group` says it in the environment.
enum GroupVariable {
    static let name = "NEST_GROUP"

    /// Makes what the client writes from here on part of the group, and returns its number; `nil` without one.
    @discardableResult
    static func join(_ client: NestClient) async throws -> UInt64? {
        guard let text = environment(Self.name) else { return nil }
        guard let number = UInt64(text), number > 0 else {
            throw CommandFailure(.usage, "\(Self.name) is the number of a group, not '\(text)'")
        }
        do {
            try await client.joinGroup(number)
        } catch {
            guard error.code == .notFound else { throw error }
            throw CommandFailure(
                .refused,
                "group \(number) (\(Self.name)) has ended, or is of another session or server: nothing was done"
            )
        }
        return number
    }
}
