//===- Evaluator.h - What expressions mean ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Evaluates expressions and statements in a frame. Numbers, dimensions and
// parts are computed at once; operations on tensors become nodes of the current
// graph. Every function here reports its errors and then returns poison.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_EVALUATOR_H
#define PTLC_LANG_SEMA_EVALUATOR_H

#include "lang/Sema/Context.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace ptlc::sema {

/// An evaluated argument of a call or an index.
struct Argument {
  llvm::StringRef label; ///< empty for one by place
  const ast::Arg *syntax = nullptr;
  Entity value;               ///< unless it is an arrow
  std::optional<Arrow> arrow; ///< `a -> (b, c)`
  lang::SourceRange range;

  bool isPositional() const { return label.empty(); }
};
using Arguments = std::vector<Argument>;

/// A type as written, its names resolved.
struct DeclaredType {
  enum class Form : uint8_t { Dim, Number, Tensor };
  Form form = Form::Tensor;
  bool hasRest = false; ///< begins with `..`
  Type type;            ///< of a tensor; of a number only the kind
  std::vector<Advice> advice;
};

class Evaluator {
public:
  Evaluator(Context &ctx, Frame &frame) : ctx(ctx), frame(frame) {}
  Context &context() { return ctx; }
  /// The part whose path random streams and named values carry.
  PartId part() const { return frame.partId; }
  Frame &where() { return frame; }

  Entity evaluate(const ast::Expr &expr);

  // Names (Names.cpp). The static check has reported unknown names.
  Entity lookup(llvm::StringRef name);
  /// A dotted path such as `llama.seq`.
  Entity lookup(const ast::Path &path);
  Entity member(const Entity &base, llvm::StringRef baseText, const ast::Name &name,
                lang::SourceRange range);

  // Types (Types.cpp).
  std::optional<DeclaredType> resolve(const ast::TypeExpr &type);
  /// Checks that `value` is of the declared type and puts its dimensions in the declared order.
  /// `who` begins the message: "'x'", "the result of 'forward'".
  Entity conform(const Entity &value, const DeclaredType &declared, lang::SourceRange range,
                 const llvm::Twine &who);
  /// `value` with the dimensions in this order.
  Tensor reorder(Tensor value, llvm::ArrayRef<DimId> order, lang::SourceRange range);
  std::string typeName(const DeclaredType &declared) const;

  // Operators (Operators.cpp, Numbers.cpp).
  Entity unary(const ast::UnaryExpr &expr);
  Entity binary(const ast::BinaryExpr &expr);
  Entity matmul(const Entity &lhs, const Entity &rhs, const ast::BinaryExpr &expr);
  /// The contraction of `operands` over `over`; checks all but that `over` is given.
  Entity contract(llvm::ArrayRef<Tensor> operands, llvm::ArrayRef<DimId> over,
                  lang::SourceRange range);
  /// The names of an element-wise result: those of the operand that has all. `op` is for messages.
  std::optional<DimList> join(llvm::StringRef op, const Entity &lhs, const Entity &rhs,
                              lang::SourceRange range);
  /// A number or tensor as a tensor of `kind` (which may be float for an int); casts are nodes.
  ValueId operand(const Entity &value, Kind kind, lang::SourceRange range);
  /// The element kind of a number or a tensor.
  Kind kind(const Entity &value) const;

  // Calls (Calls.cpp, Index.cpp).
  Entity call(const ast::CallExpr &expr);
  Entity index(const ast::IndexExpr &expr);
  /// Expands a function. `site` is the call's expression.
  Entity expand(const FunctionEntity &function, const Arguments &args, lang::SourceRange site);
  /// Whether a call of `name` means a built-in function here.
  bool isBuiltin(llvm::StringRef name);
  /// Calls `forward` of a part.
  Entity forward(PartInstance &part, const Arguments &args, lang::SourceRange site);
  /// The int or range that `for` and `repeat` walk.
  std::optional<RangeEntity> walked(const Entity &value, lang::SourceRange range,
                                    llvm::StringRef word);

  // Parameters (Parameters.cpp).
  Arguments arguments(llvm::ArrayRef<ast::Arg> args);
  /// One dimension or a tuple of them; reports anything else.
  std::optional<DimList> dims(const Entity &value, lang::SourceRange range);
  using BindFunction = llvm::function_ref<void(const ast::Param &, Entity, const DeclaredType *)>;
  /// Gives the parameters their values. `bind` receives each, in order. Returns false if one has
  /// none.
  bool bindParameters(llvm::ArrayRef<ast::Param> params, const Arguments &args, Frame &callee,
                      llvm::StringRef name, lang::SourceRange site, lang::SourceRange declaration,
                      BindFunction bind);

  // Statements (Statements.cpp).
  /// Runs the statements until `return`, whose value it returns; nullopt without one.
  std::optional<Entity> run(const ast::Block &block);
  /// Records a local value that a plan's path can name.
  void recordName(llvm::StringRef name, const Entity &value, std::vector<Advice> advice,
                  lang::SourceRange range);
  /// Reports an assertion that doesn't hold, with the values in it.
  void checkAssertion(const ast::Expr &condition, const ast::StringExpr *message,
                      lang::SourceRange range);

private:
  Entity group(const ast::GroupExpr &expr);
  Entity range(const ast::RangeExpr &expr);
  Entity callBuiltin(llvm::StringRef name, const ast::CallExpr &expr);
  Entity callStack(const StackEntity &stack, const Arguments &args, lang::SourceRange site);
  Entity indexStack(const StackEntity &stack, const Arguments &args, lang::SourceRange range);
  Entity indexOne(Tensor base, const Argument &arg, const ast::IndexExpr &expr);
  Entity indexNumber(Tensor base, DimId dim, int64_t index, const Argument &arg,
                     lang::SourceRange site);
  Entity gather(Tensor base, DimId dim, Tensor indices, lang::SourceRange site);
  Entity logic(llvm::StringRef op, const Entity &lhs, const Entity &rhs, lang::SourceRange range);
  Entity arithmetic(const ast::BinaryExpr &expr, const Entity &lhs, const Entity &rhs);
  Entity comparison(const ast::BinaryExpr &expr, const Entity &lhs, const Entity &rhs);
  bool isVisible(llvm::StringRef name);
  Entity body(const FunctionEntity &function);
  Entity returned(const FunctionEntity &function, Entity value);
  Entity result(const Entity &value, const DeclaredType &type, lang::SourceRange range,
                const llvm::Twine &who);
  void let(const ast::LetStmt &stmt);
  void var(const ast::VarStmt &stmt);
  void assign(const ast::AssignStmt &stmt);
  void metric(const ast::MetricStmt &stmt);
  /// A value for a `var`: numbers become scalars, of the kind of `old` if there is one.
  Entity variableValue(const Entity &given, llvm::StringRef name, lang::SourceRange range,
                       const Type *old);
  /// What a loop that can't be walked assigns has no known value.
  void poisonAssigned(const ast::Block &block);
  std::optional<Entity> loop(const ast::ForStmt &stmt);
  Entity declaredValue(const ast::Expr &value, const ast::TypeExpr *type, llvm::StringRef name,
                       std::vector<Advice> &advice);

  Context &ctx;
  Frame &frame;
};

/// The value of a symbol of a file (`part` is null) or of a part: sizes are found on demand.
Entity force(Context &ctx, Symbol &symbol, FileScope &file, PartInstance *part);

/// Exact arithmetic on numbers; `expr` is for messages. Never called with a tensor.
Entity numberBinary(Context &ctx, const ast::BinaryExpr &expr, const Entity &lhs,
                    const Entity &rhs);
Entity numberNegate(Context &ctx, const Entity &value, lang::SourceRange range);
/// x to the power y: exact for ints with y >= 0.
Entity numberPower(Context &ctx, const Entity &base, const Entity &exponent,
                   lang::SourceRange range);
/// The int nearest below or above a number.
Entity numberRound(Context &ctx, const Entity &value, bool up, lang::SourceRange range);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_EVALUATOR_H
