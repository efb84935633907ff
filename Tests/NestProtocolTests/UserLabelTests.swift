import NIOCore
import NestFraming
import NestModel
import NestProtocol
import Testing

/// Users and expiries on the wire, beside the vectors.
@Suite struct UserLabelTests {
    private static let hash = TokenSecret(high: Identifier128(high: 1, low: 2), low: Identifier128(high: 3, low: 4))

    private func decoded(_ grant: TokenGrant) throws -> TokenGrant {
        try CreateToken(body: ByteBuffer(bytes: CreateToken(grant, secretHash: Self.hash).body)).grant
    }

    /// An expiry that the wire cannot hold neither traps nor becomes "never".
    @Test(
        arguments: [
            (Int64.min, 1), (-1, 1), (0, 1), (1, 1), (1 << 62 - 1, 1 << 62 - 1), (1 << 62, 1 << 62 - 1),
            (Int64.max, 1 << 62 - 1),
        ] as [(Int64, Int64)]
    )
    func everyExpiryIsEncodedAsAnExpiry(_ expires: Int64, _ sent: Int64) throws {
        #expect(try self.decoded(TokenGrant(name: "t", role: .read, expires: expires)).expires == sent)
    }

    @Test func noExpiryAndNoUserAreLeftOut() throws {
        let plain = TokenGrant(name: "t", role: .read)
        #expect(try self.decoded(plain) == plain)
        var old = ByteWriter()
        old.write(tokenSecret: Self.hash)
        old.write(tokenGrant: plain)
        #expect(CreateToken(plain, secretHash: Self.hash).body == old.bytes)
        let named = TokenGrant(name: "t", role: .read, user: "Ann")
        #expect(try self.decoded(named) == named)
    }

    private static func entry(_ revision: UInt64, _ user: UserLabel?) -> HistoryEntry {
        HistoryEntry(
            revision: Revision(revision),
            time: 0,
            sessionNumber: 1,
            kind: .write,
            reverted: nil,
            name: "",
            isMine: false,
            isNextUndo: false,
            isNextRedo: false,
            entry: revision == 1 ? nil : Revision(1),
            user: user
        )
    }

    /// The users follow all entries: a client that does not know them reads the same entries.
    @Test func theUsersOfHistoryFollowTheEntries() throws {
        let claim = UserLabel("Bob", isClaimed: true)
        for users in [[UserLabel("Ann"), nil, claim], [nil, nil, claim], [nil, nil, nil]] {
            let entries = users.enumerated().map { Self.entry(UInt64(3 - $0.offset), $0.element) }
            let plain = History((1...3).reversed().map { Self.entry($0, nil) }).body
            let body = History(entries).body
            #expect(body.starts(with: plain) && (body == plain) == users.allSatisfy { $0 == nil })
            #expect(try History(body: ByteBuffer(bytes: body)).entries == entries)
        }
    }

    /// A label of the longest length is accepted in every message; a longer one is refused.
    @Test func labelsAreLimited() throws {
        let longest = String(repeating: "x", count: Limits.nameBytesMax)
        func refusal(_ message: some Message) -> ErrorCode? {
            do {
                _ = try type(of: message).init(body: ByteBuffer(bytes: message.body))
                return nil
            } catch let error as WireError {
                return error.nestError.code
            } catch {
                return .internalError
            }
        }
        func messages(_ user: String) -> [any Message] {
            let label = UserLabel(user)
            return [
                Hello(clientName: "", session: Identifier128(high: 0, low: 1), user: user),
                History([Self.entry(1, label)]),
                CreateToken(TokenGrant(name: "t", role: .read, user: user), secretHash: Self.hash),
                Authors([RevisionAuthor(revision: Revision(1), sessionNumber: 1, user: label)]),
                PeerOpen(port: 1, session: Identifier128(high: 0, low: 1), token: 0, user: user),
            ]
        }
        for message in messages(longest) { #expect(refusal(message) == nil, "\(message)") }
        for message in messages(longest + "x") { #expect(refusal(message) == .limitExceeded, "\(message)") }
    }
}
