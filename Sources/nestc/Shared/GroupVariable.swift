import NestClient
import NestModel

/// The group that this command runs in. `nestc group` sets the environment variable.
enum GroupVariable {
    static let name = "NEST_GROUP"

    /// Joins the group: the client's writes from now on belong to it. Returns its number, or `nil` if there is no
    /// group.
    @discardableResult
    static func join(_ client: NestClient) async throws -> UInt64? {
        guard let text = environment(Self.name) else { return nil }
        guard let number = UInt64(text), number > 0 else {
            throw CommandFailure(.usage, "\(Self.name) must be the number of a group, not '\(text)'")
        }
        do {
            try await client.joinGroup(number)
        } catch {
            guard error.code == .notFound else { throw error }
            throw CommandFailure(
                .refused,
                "group \(number) (\(Self.name)) has ended, or belongs to another session or server; nothing was done"
            )
        }
        return number
    }
}
