//===- Dump.cpp - A text form of the tree ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One line per declaration, statement and directive, expressions as
// s-expressions. Two trees are the same program exactly if their dumps agree,
// which is how the printer is tested.
//===----------------------------------------------------------------------===//
#include "lang/AST/AST.h"

#include "llvm/Support/raw_ostream.h"

using namespace ptlc::ast;
using llvm::StringRef;

namespace {

class Dumper : public Visitor<Dumper> {
public:
  explicit Dumper(llvm::raw_ostream &os) : os(os) {}

  // Expressions.
  void visitNumberExpr(const NumberExpr &e) { os << e.text; }
  void visitBoolExpr(const BoolExpr &e) { os << (e.value ? "true" : "false"); }
  void visitStringExpr(const StringExpr &e) {
    os << '"';
    os.write_escaped(e.value);
    os << '"';
  }
  void visitRefExpr(const RefExpr &e) { os << e.name.text; }
  void visitCallExpr(const CallExpr &e) { apply("call", *e.callee, e.args); }
  void visitIndexExpr(const IndexExpr &e) { apply("index", *e.base, e.args); }
  void visitAccessExpr(const AccessExpr &e) {
    os << "(. ";
    visit(*e.base);
    os << ' ' << e.member.text << ')';
  }
  void visitUnaryExpr(const UnaryExpr &e) {
    os << (e.op == UnaryOp::Negate ? "(neg " : "(not ");
    visit(*e.operand);
    os << ')';
  }
  void visitBinaryExpr(const BinaryExpr &e) { pair(spelling(e.op), *e.lhs, *e.rhs); }
  void visitRangeExpr(const RangeExpr &e) { pair("..", *e.first, *e.last); }
  void visitArrowExpr(const ArrowExpr &e) { pair("->", *e.from, *e.to); }
  void visitGroupExpr(const GroupExpr &e) {
    os << "(group";
    for (const ExprPtr &element : e.elements) {
      os << ' ';
      visit(*element);
    }
    os << ')';
  }
  void visitMeasureExpr(const MeasureExpr &e) {
    os << "(measure " << e.number->text << ' ' << e.unit.text;
    if (!e.per.empty())
      os << " per " << e.per.text;
    os << ')';
  }

  // Types.
  void visitScalarType(const ScalarType &t) { os << t.name.text; }
  void visitTensorType(const TensorType &t) {
    os << t.element.text << '[';
    StringRef separator = "";
    if (t.hasRest) {
      os << "..";
      separator = ", ";
    }
    for (const Dimension &dim : t.dims) {
      os << separator << dim.path.str();
      separator = ", ";
      if (!dim.advice.isPresent())
        continue;
      os << " @";
      for (const Name &axis : dim.advice.axes)
        os << ' ' << axis.text;
    }
    os << ']';
  }

  // Statements.
  void visitLetStmt(const LetStmt &s) {
    begin(s.isTuple ? "let-tuple" : "let");
    for (const Name &name : s.names)
      os << ' ' << name.text;
    typed(s.type.get());
    value(s.value.get());
    end();
  }
  void visitVarStmt(const VarStmt &s) {
    begin("var") << ' ' << s.name.text;
    typed(s.type.get());
    value(s.value.get());
    end();
  }
  void visitAssignStmt(const AssignStmt &s) { named("assign", s.name, *s.value); }
  void visitMetricStmt(const MetricStmt &s) { named("metric", s.name, *s.value); }
  void visitForStmt(const ForStmt &s) {
    begin("for") << ' ' << s.variable.text << " in ";
    visit(*s.iterable);
    end();
    block(s.body);
  }
  void visitReturnStmt(const ReturnStmt &s) {
    begin("return") << ' ';
    visit(*s.value);
    end();
  }
  void visitAssertStmt(const AssertStmt &s) { check(*s.condition, s.message.get()); }

  // Declarations.
  void visitFile(const File &f) {
    for (const DeclPtr &item : f.items)
      visit(*item);
  }
  void visitImportDecl(const ImportDecl &d) {
    begin("import", d.doc) << ' ';
    if (d.file)
      visit(*d.file);
    else
      os << d.path.str();
    if (!d.alias.empty())
      os << " as " << d.alias.text;
    end();
  }
  void visitSizesDecl(const SizesDecl &d) {
    begin(d.isDim ? "dim" : "const", d.doc);
    for (const Bind &each : d.binds)
      bind(each);
    end();
  }
  void visitAssertDecl(const AssertDecl &d) { check(*d.condition, d.message.get()); }
  void visitWeightDecl(const WeightDecl &d) {
    begin(d.isFrozen ? "frozen weight" : "weight", d.doc) << ' ' << d.name.text;
    typed(d.type.get());
    value(d.init.get());
    end();
  }
  void visitPartDecl(const PartDecl &d) {
    begin(d.isFrozen ? "frozen part" : "part", d.doc) << ' ' << d.name.text;
    if (d.repeat) {
      os << " repeat " << d.repeat->variable.text << '(';
      visit(*d.repeat->count);
      os << ')';
    }
    value(d.value.get());
    end();
  }
  void visitFunctionDecl(const FunctionDecl &d) {
    begin("fn", d.doc) << ' ' << d.name.text;
    params(d.params);
    for (const TypePtr &result : d.results) {
      os << (d.resultsGrouped ? " ->> " : " -> ");
      visit(*result);
    }
    value(d.value.get());
    end();
    if (!d.value)
      block(d.body);
  }
  void visitModuleDecl(const ModuleDecl &d) {
    begin(d.isModel ? "model" : "module", d.doc) << ' ' << d.name.text;
    if (d.hasParams)
      params(d.params);
    end();
    ++depth;
    for (const DeclPtr &member : d.members)
      visit(*member);
    --depth;
  }
  void visitTrainDecl(const TrainDecl &d) {
    begin("train", d.doc) << ' ' << d.model.str();
    end();
    directives(d.directives);
  }
  void visitPlanDecl(const PlanDecl &d) {
    begin("plan", d.doc) << ' ' << d.name.text;
    for (const Bind &axis : d.axes)
      bind(axis);
    if (!d.cluster.empty())
      os << " of " << d.cluster.str();
    end();
    directives(d.directives);
  }
  void visitClusterDecl(const ClusterDecl &d) {
    begin("cluster", d.doc) << ' ' << d.name.text;
    end();
    directives(d.directives);
  }

  // Directives.
  void visitCallDirective(const CallDirective &d) {
    begin(d.name.text);
    arguments(d.args);
    end();
  }
  void visitAssertDirective(const AssertDirective &d) {
    begin("promise") << ' ' << d.name.text;
    arguments(d.args);
    os << ' ' << spelling(d.op) << ' ';
    visit(*d.bound);
    end();
  }

private:
  llvm::raw_ostream &begin(StringRef word, StringRef doc = "") {
    for (StringRef rest = doc; !rest.empty();) {
      auto [line, after] = rest.split('\n');
      os.indent(2 * depth) << "/// " << line << '\n';
      rest = after;
    }
    return os.indent(2 * depth) << word;
  }
  void end() { os << '\n'; }

  void typed(const TypeExpr *type) {
    if (!type)
      return;
    os << ": ";
    visit(*type);
  }
  void value(const Expr *expr) {
    if (!expr)
      return;
    os << " = ";
    visit(*expr);
  }
  void named(StringRef word, const Name &name, const Expr &expr) {
    begin(word) << ' ' << name.text;
    value(&expr);
    end();
  }
  void check(const Expr &condition, const StringExpr *message) {
    begin("assert") << ' ';
    visit(condition);
    if (message) {
      os << ", ";
      visit(*message);
    }
    end();
  }
  void bind(const Bind &each) {
    os << " (" << each.name.text;
    value(each.value.get());
    os << ')';
  }
  void params(const std::vector<Param> &list) {
    os << " (";
    StringRef separator = "";
    for (const Param &param : list) {
      os << separator << param.name.text;
      typed(param.type.get());
      value(param.defaultValue.get());
      separator = ", ";
    }
    os << ')';
  }
  void arguments(const std::vector<Arg> &args) {
    for (const Arg &arg : args) {
      os << ' ';
      if (!arg.isPositional())
        os << arg.label.str() << ": ";
      visit(*arg.value);
    }
  }
  void apply(StringRef word, const Expr &base, const std::vector<Arg> &args) {
    os << '(' << word << ' ';
    visit(base);
    arguments(args);
    os << ')';
  }
  void pair(StringRef word, const Expr &a, const Expr &b) {
    os << '(' << word << ' ';
    visit(a);
    os << ' ';
    visit(b);
    os << ')';
  }
  void block(const Block &body) {
    ++depth;
    for (const StmtPtr &statement : body.statements)
      visit(*statement);
    --depth;
  }
  void directives(const std::vector<DirectivePtr> &list) {
    ++depth;
    for (const DirectivePtr &directive : list)
      visit(*directive);
    --depth;
  }

  llvm::raw_ostream &os;
  unsigned depth = 0;
};

} // namespace

std::string ptlc::ast::dump(const Node &node) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Dumper(os).visit(node);
  return text;
}
